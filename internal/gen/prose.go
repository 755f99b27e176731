package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
)

// Prose holds the comments of the declarations' fields: type name, Go field
// name, text.
type Prose map[string]map[string]string

// ReadProse parses the Go files of folders.
func ReadProse(folders ...fs.FS) (Prose, error) {
	p := Prose{}
	for _, folder := range folders {
		names, err := fs.Glob(folder, "*.go")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := fs.ReadFile(folder, name)
			if err != nil {
				return nil, err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			ast.Inspect(file, p.note)
		}
	}
	return p, nil
}

func (p Prose) note(n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return true
	}
	fields := map[string]string{}
	for _, f := range st.Fields.List {
		for _, name := range f.Names {
			fields[name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
	p[spec.Name.Name] = fields
	return true
}

// A member is one member of an object as a page shows it.
type member struct {
	name, typ, doc string
	optional       bool
}

// membersOf lists what a struct has on the wire, embedded ones included.
func (p Prose) membersOf(t reflect.Type) []member {
	var out []member
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		if f.Anonymous && !tagged {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			out = append(out, p.membersOf(inner)...)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" || name == "-" {
			continue
		}
		doc := strings.TrimPrefix(p[t.Name()][f.Name], f.Name+" ")
		out = append(out, member{
			name: name, typ: typeName(f.Type), doc: upperFirst(doc), optional: options != "",
		})
	}
	return out
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
