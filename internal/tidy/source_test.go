package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The sizes that keep a file and a function readable.
const (
	maxFileLines     = 500
	maxFunctionLines = 70
)

// owners says who may use a part of the standard library.
var owners = []struct {
	name string // package.Name, or a whole import path
	may  []string
	why  string
}{
	{"os/exec", []string{"internal/proc", "internal/rig", "clients/nvim/check", "envelope/host"}, "one package starts processes; the rig is a stranger, and the public host must stand alone"},
	{"os.Environ", []string{"cmd/dragoman", "internal/app", "internal/rig", "clients/nvim/check"}, "the environment is handed down"},
	{"os.Getenv", []string{"cmd/dragoman", "internal/app", "internal/rig"}, "the environment is handed down"},
	{"os.LookupEnv", []string{"cmd/dragoman", "internal/app", "internal/rig"}, "the environment is handed down"},
	{"os.Exit", []string{"cmd/dragoman", "internal/rig", "clients/nvim/check"}, "only main ends the process"},
	{"signal.Notify", []string{"internal/app", "internal/proc", "internal/rig"}, "signals have one owner"},
	{"signal.NotifyContext", []string{"internal/app", "internal/proc", "internal/rig", "clients/nvim/check"}, "signals have one owner"},
	{"encoding/json", nil, "it takes duplicate keys, other letter cases and broken UTF-8"},
}

type sourceFile struct {
	pkg, path string
	set       *token.FileSet
	ast       *ast.File
	lines     int
}

// sources parses every file of the module that isn't a test.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	var all []sourceFile
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, b, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			pkg := strings.TrimPrefix(p.ImportPath, module)
			all = append(all, sourceFile{pkg, pkg + "/" + name, set, f, strings.Count(string(b), "\n")})
		}
	}
	return all
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	for _, f := range sources(t) {
		if f.lines > maxFileLines && !ast.IsGenerated(f.ast) {
			t.Errorf("%s has %d lines, %d at most", f.path, f.lines, maxFileLines)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, %d at most", f.path, fn.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

func TestStandardLibraryHasOwners(t *testing.T) {
	for _, f := range sources(t) {
		for _, o := range owners {
			if slices.Contains(o.may, f.pkg) || !f.uses(o.name) {
				continue
			}
			t.Errorf("%s uses %s, which only %v may: %s", f.path, o.name, o.may, o.why)
		}
	}
}

// uses reports whether the file imports a path or selects package.Name.
func (f sourceFile) uses(name string) bool {
	for _, i := range f.ast.Imports {
		if i.Path.Value == `"`+name+`"` {
			return true
		}
	}
	pkg, member, ok := strings.Cut(name, ".")
	if !ok {
		return false
	}
	found := false
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == member {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == pkg && id.Obj == nil {
				found = true
			}
		}
		return true
	})
	return found
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range sources(t) {
		if f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && receiverExported(d) && !wellKnown[d.Name.Name] {
					t.Errorf("%s: %s has no doc comment", f.path, d.Name.Name)
				}
			case *ast.GenDecl:
				f.checkSpecs(t, d)
			}
		}
	}
}

// wellKnown are methods whose meaning their interface gives.
var wellKnown = map[string]bool{"Error": true, "Unwrap": true, "Is": true, "String": true, "Len": true, "Less": true, "Swap": true, "Write": true, "Read": true, "Close": true}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func (f sourceFile) checkSpecs(t *testing.T, d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				t.Errorf("%s: type %s has no doc comment", f.path, s.Name.Name)
			}
		case *ast.ValueSpec:
			if d.Doc == nil && s.Doc == nil && s.Comment == nil && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
				t.Errorf("%s: %s has no doc comment", f.path, s.Names[0].Name)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		documented[f.pkg] = documented[f.pkg] || f.ast.Doc != nil
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}
