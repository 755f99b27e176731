package gen

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dragoman/wire/op"
)

// typeName is the name of a type on a page.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Interface {
		return "any JSON"
	}
	if e, ok := reflect.Zero(t).Interface().(op.Enum); ok && t.Kind() == reflect.String {
		return "`" + strings.Join(e.Enum(), "` \\| `") + "`"
	}
	switch {
	case t.String() == "jsontext.Value":
		return "any JSON"
	case t.String() == "time.Time":
		return "time"
	case t.String() == "[]uint8":
		return "base64"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "object of " + typeName(t.Elem())
	case reflect.Struct:
		name, _, generic := strings.Cut(t.Name(), "[")
		if generic {
			return "string or null"
		}
		return name
	}
	return "integer"
}

// page collects one page.
type page struct {
	strings.Builder
	prose Prose
}

func (p *page) table(t reflect.Type) {
	members := p.prose.membersOf(t)
	if len(members) == 0 {
		p.WriteString("None.\n")
		return
	}
	p.WriteString("| member | type | |\n|---|---|---|\n")
	for _, m := range members {
		name := "`" + m.name + "`"
		if m.optional {
			name += "?"
		}
		fmt.Fprintf(p, "| %s | %s | %s |\n", name, m.typ, strings.ReplaceAll(m.doc, "|", `\|`))
	}
}

// object writes a heading and a table, and the same for the types in it.
func (p *page) object(title string, v any) {
	t := reflect.TypeOf(v)
	fmt.Fprintf(p, "\n## %s\n\n", title)
	if t.Kind() != reflect.Struct {
		fmt.Fprintf(p, "An object of %s.\n", typeName(t.Elem()))
		return
	}
	p.table(t)
	for _, inner := range innerTypes(t, nil) {
		fmt.Fprintf(p, "\n### %s\n\n", inner.Name())
		p.table(inner)
	}
}

// innerTypes lists the structs inside t, each once, in order.
func innerTypes(t reflect.Type, seen []reflect.Type) []reflect.Type {
	for i := range t.NumField() {
		f := t.Field(i)
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct || inner.String() == "time.Time" || slices.Contains(seen, inner) {
			continue
		}
		if _, tagged := f.Tag.Lookup("json"); (tagged || !f.Anonymous) && !strings.Contains(inner.Name(), "[") {
			seen = append(seen, inner)
		}
		seen = innerTypes(inner, seen)
	}
	return seen
}

func list[T ~string](items []T) string {
	if len(items) == 0 {
		return "none"
	}
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = "`" + string(s) + "`"
	}
	return strings.Join(quoted, " ")
}

// OpPage is the reference page of an operation. example is a transcript, ""
// for none.
func (p Prose) OpPage(o op.Declaration, example string) string {
	d := o.Describe()
	params, result := o.Types()
	pg := &page{prose: p}
	fmt.Fprintf(pg, "# %s\n\n`%s` %s\n\n", d.Op, d.Op, d.Doc)
	fmt.Fprintf(pg, "Effect `%s`, since level %d.", d.Effect, d.Since)
	if d.Streaming {
		pg.WriteString(" It streams: the response is `{\"run\":ID}`, and the result comes with `run.ended`.")
	}
	fmt.Fprintf(pg, "\n\nErrors beside the common ones: %s.\nEvents: %s.\n", list(d.Errors), list(d.Events))
	pg.object("Params", params)
	pg.object("Result", result)
	if example != "" {
		fmt.Fprintf(pg, "\n## Example\n\n```\n%s\n```\n", strings.TrimSpace(example))
	}
	return pg.String()
}

// EventPage is the reference page of an event.
func (p Prose) EventPage(e op.EventDeclaration) string {
	d := e.DescribeEvent()
	pg := &page{prose: p}
	fmt.Fprintf(pg, "# %s\n\nThe event `%s` %s\n\nSince level %d.", d.Event, d.Event, d.Doc, d.Since)
	if d.Bulk {
		pg.WriteString(" It has no `seq` and isn't replayed.")
	}
	pg.WriteString("\n")
	pg.object("Params", e.ParamsType())
	return pg.String()
}

// Contents is the page that lists all others.
func Contents(l Level) string {
	var b strings.Builder
	b.WriteString("# The core protocol\n\nGenerated from the declarations in wire/core.\n\n## Operations\n\n")
	b.WriteString("| | effect | |\n|---|---|---|\n")
	for _, d := range l.Ops {
		name := d.Op
		if d.Streaming {
			name += " (S)"
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", name, d.Op, d.Effect, d.Doc)
	}
	b.WriteString("\n## Events\n\n| | |\n|---|---|\n")
	for _, d := range l.Events {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", d.Event, d.Event, d.Doc)
	}
	b.WriteString("\nThe codes that every operation may answer with: ")
	b.WriteString(list(op.CommonCodes()) + ".\n")
	return b.String()
}
