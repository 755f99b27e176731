package op

import (
	"context"
	"fmt"
	"slices"
	"sort"
)

// A Mux is the table of the bound operations. It is filled while the core is
// built, before the first call; then it may be read from any goroutine.
type Mux struct {
	rows  map[string]*Row
	alias func(key string) string
}

// NewMux returns an empty table.
func NewMux() *Mux { return &Mux{rows: map[string]*Row{}} }

// A Row is one bound operation.
type Row struct {
	// Desc describes it.
	Desc Desc

	decode func(raw []byte) (any, error)
	keys   func(params any) []string
	scope  func(params any) Scope
	handle func(ctx context.Context, c Call, params any) (any, error)
	start  func(ctx context.Context, c Call, params any) (Job, error)
}

// Lookup returns the row of an operation.
func (m *Mux) Lookup(name string) (*Row, bool) {
	r, ok := m.rows[name]
	return r, ok
}

// Names lists the bound operations in order.
func (m *Mux) Names() []string {
	names := make([]string, 0, len(m.rows))
	for n := range m.rows {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Alias sets a function that gives the one key of things that are the same
// (a path and the buffer that is open for it).
func (m *Mux) Alias(f func(key string) string) { m.alias = f }

// Keys are the things that a call of r with params writes, each once; nil
// when there is no order to keep.
func (m *Mux) Keys(r *Row, params any) []string {
	keys := r.keys(params)
	if keys == nil && r.Desc.Effect == Write && !r.Desc.Streaming {
		return []string{r.Desc.Namespace()}
	}
	if m.alias != nil {
		for i, k := range keys {
			keys[i] = m.alias(k)
		}
	}
	sort.Strings(keys)
	return slices.Compact(keys)
}

// Decode decodes params strictly.
func (r *Row) Decode(raw []byte) (any, error) { return r.decode(raw) }

// Scope is the scope in a streaming operation's params.
func (r *Row) Scope(params any) Scope { return r.scope(params) }

// Call runs the handler of an operation that doesn't stream.
func (r *Row) Call(ctx context.Context, c Call, params any) (any, error) {
	return r.handle(ctx, c, params)
}

// Start runs the first phase of a streaming operation.
func (r *Row) Start(ctx context.Context, c Call, params any) (Job, error) {
	return r.start(ctx, c, params)
}

// Handle binds the operation to f. Binding twice, or a streaming operation,
// panics: the core's table is wrong.
func (o *Op[P, R]) Handle(m *Mux, f func(ctx context.Context, c Call, p P) (R, error)) {
	if o.Streaming {
		panic(fmt.Sprintf("op: %s streams", o.Name))
	}
	row := o.row()
	row.handle = func(ctx context.Context, c Call, params any) (any, error) {
		return f(ctx, c, params.(P))
	}
	m.add(row)
}

// Stream binds a streaming operation to its first phase (see the package
// comment). Binding twice, or another operation, panics.
func (o *Op[P, R]) Stream(m *Mux, f func(ctx context.Context, c Call, p P) (Work[R], error)) {
	if !o.Streaming {
		panic(fmt.Sprintf("op: %s doesn't stream", o.Name))
	}
	row := o.row()
	row.start = func(ctx context.Context, c Call, params any) (Job, error) {
		w, err := f(ctx, c, params.(P))
		if err != nil {
			return Job{}, err
		}
		return Job{
			Session: w.Session, Queued: w.Queued,
			Do: func(ctx context.Context, r Run) (any, error) { return w.Do(ctx, r) },
		}, nil
	}
	m.add(row)
}

func (o *Op[P, R]) row() *Row {
	return &Row{
		Desc:   o.Describe(),
		decode: o.DecodeParams,
		keys: func(params any) []string {
			if o.Keys == nil {
				return nil
			}
			p := params.(P)
			return o.Keys(&p)
		},
		scope: func(params any) Scope {
			if s, ok := params.(interface{ RunScope() Scope }); ok {
				return s.RunScope()
			}
			return ""
		},
	}
}

func (m *Mux) add(r *Row) {
	if _, twice := m.rows[r.Desc.Op]; twice {
		panic(fmt.Sprintf("op: %s is bound twice", r.Desc.Op))
	}
	m.rows[r.Desc.Op] = r
}
