package match

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// category is what a character means to an empty-width assertion.
type category uint8

const (
	atEdge category = iota // the start or end of the text
	lineEnd
	wordChar
	otherChar
)

func categoryOf(r rune) category {
	switch {
	case r == '\n':
		return lineEnd
	case syntax.IsWordChar(r):
		return wordChar
	default:
		return otherChar
	}
}

// emptyOps gives the assertions that hold between two characters.
func emptyOps(before, after category) syntax.EmptyOp {
	var ops syntax.EmptyOp
	if before == atEdge {
		ops |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if before == lineEnd {
		ops |= syntax.EmptyBeginLine
	}
	if after == atEdge {
		ops |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if after == lineEnd {
		ops |= syntax.EmptyEndLine
	}
	if (before == wordChar) != (after == wordChar) {
		return ops | syntax.EmptyWordBoundary
	}
	return ops | syntax.EmptyNoWordBoundary
}

// A program is an expression with the characters sorted into classes that no
// instruction tells apart. It is read only.
type program struct {
	inst  []syntax.Inst
	start uint32
	// ascii is the class of each ASCII character; bounds are the first
	// characters of runs of one class, classes the class of each run.
	ascii   [utf8.RuneSelf]uint8
	bounds  []rune
	classes []uint8
	// example is a character of each class; the class after the last one
	// stands for the edge of the text.
	example []rune
}

// maxClasses is how many classes fit; an expression with more keeps to the
// standard library's limits by failing to compile.
const maxClasses = 255

type tooManyClassesError struct{}

func (tooManyClassesError) Error() string { return "expression tells too many characters apart" }

func newProgram(tree *syntax.Regexp) (*program, error) {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	p := &program{inst: prog.Inst, start: uint32(prog.Start)}
	p.bounds = boundsOf(prog.Inst)
	return p, p.classify()
}

// boundsOf gives, sorted, each character at which an instruction may begin to
// decide otherwise than for the one before.
func boundsOf(insts []syntax.Inst) []rune {
	bounds := []rune{0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1}
	add := func(low, high rune) { bounds = append(bounds, low, high+1) }
	for i := range insts {
		in := &insts[i]
		switch {
		case in.Op != syntax.InstRune && in.Op != syntax.InstRune1:
		case len(in.Rune) == 1:
			r := in.Rune[0]
			add(r, r)
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				add(f, f)
			}
		default:
			for k := 0; k+1 < len(in.Rune); k += 2 {
				add(in.Rune[k], in.Rune[k+1])
			}
		}
	}
	slices.Sort(bounds)
	return slices.Compact(bounds)
}

func (p *program) classify() error {
	seen := map[string]uint8{}
	var key []byte
	for _, r := range p.bounds {
		key = append(key[:0], byte(categoryOf(r)))
		for i := range p.inst {
			key = append(key, byte(0))
			if consumes(&p.inst[i], r) {
				key[len(key)-1] = 1
			}
		}
		class, ok := seen[string(key)]
		if !ok {
			if len(p.example) == maxClasses {
				return tooManyClassesError{}
			}
			class = uint8(len(p.example))
			seen[string(key)] = class
			p.example = append(p.example, r)
		}
		p.classes = append(p.classes, class)
	}
	for r := range rune(utf8.RuneSelf) {
		p.ascii[r] = p.classOf(r)
	}
	return nil
}

func consumes(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRune, syntax.InstRune1:
		return in.MatchRune(r)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return false
}

// classOf gives the class of any character.
func (p *program) classOf(r rune) uint8 {
	i, found := slices.BinarySearch(p.bounds, r)
	if !found {
		i--
	}
	return p.classes[i]
}

// edge is the class that stands for the start or end of the text.
func (p *program) edge() int { return len(p.example) }

func (p *program) category(class int) category {
	if class == p.edge() {
		return atEdge
	}
	return categoryOf(p.example[class])
}

// folds reports whether r has another case.
func folds(r rune) bool { return unicode.SimpleFold(r) != r }
