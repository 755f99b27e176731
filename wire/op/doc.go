// Package op is how an operation or an event of the core protocol is
// declared (core.md §7). One declaration gives the dispatch row, the strict
// decoding of params, the JSON Schema, the reference page, the Go client's
// call and the entry in hello's list.
//
// # Declaring
//
// An operation is a variable in wire/core, beside its params and result:
//
//	type BufferUndoParams struct {
//		// Buffer is the buffer to change.
//		Buffer string `json:"buffer"`
//		// Revision refuses the call unless it is the current one.
//		Revision *int64 `json:"revision,omitzero"`
//	}
//
//	var BufferUndo = &op.Op[BufferUndoParams, UndoResult]{
//		Name: "buffer.undo", Since: 1, Effect: op.Write,
//		Doc:    "takes back the last step of a buffer.",
//		Errors: []op.Code{op.CodeNoBuffer, op.CodeStale},
//		Events: []string{"buffer.changed"},
//		Keys:   func(p *BufferUndoParams) []string { return []string{BufferKey(p.Buffer)} },
//	}
//
// Tags decide what is required: a member with omitzero or omitempty may be
// absent, every other one must be there. A pointer without omitzero may be
// null; [Nullable] is for members that may be absent, null or a value. A
// string type with an Enum method takes only those values. A struct with a
// Validate method is checked after it was decoded, at any depth; a type with
// [Custom] decodes itself. Params are closed objects; results and events are
// open for readers.
//
// # Binding
//
// A namespace binds plain functions; it knows no transport, client queue or
// JSON:
//
//	func (s *Store) Bind(m *op.Mux) {
//		core.BufferUndo.Handle(m, s.undo)
//		core.ProjectSearch.Stream(m, s.search)
//	}
//
//	func (s *Store) undo(ctx context.Context, c op.Call, p core.BufferUndoParams) (core.UndoResult, error)
//
// Other namespaces call s.undo as what it is: a function.
//
// A streaming operation has two phases. The first decides, without I/O, what
// its response is: an error (then no run exists) or [Work], whose Do runs as
// a run until it returns:
//
//	func (s *Store) search(ctx context.Context, c op.Call, p core.ProjectSearchParams) (op.Work[core.SearchResult], error) {
//		if p.Query == "" {
//			return op.Work[core.SearchResult]{}, op.BadRequest("query", "empty")
//		}
//		return op.Work[core.SearchResult]{Do: func(ctx context.Context, r op.Run) (core.SearchResult, error) {
//			r.Bulk(core.ProjectMatches.With(batch), op.Mark{Next: n})
//			r.Progress(done, total, "")
//			return result, nil // or an error: run.ended tells it
//		}}, nil
//	}
//
// ctx of Do ends with run.cancel, with the core, and, for scope "client",
// with the client; a Do that returns then with the context's error ends as
// cancelled, and one that still returns a result ends ok.
//
// # Events
//
// A namespace is handed an [Emitter]. Emit keeps the order of the calls, and
// what a handler emitted before it returned stands before its response:
//
//	s.events.Emit(core.FsChanged.With(core.FsChangedParams{…}))
//
// Params with positions are encoded once for each unit that a client uses;
// the function is pure, may be called later and from any goroutine:
//
//	s.events.Emit(core.BufferChanged.ByUnit(func(u op.Unit) core.BufferChangedParams {…}))
//
// Positions in params and results are in [Call].Unit.
//
// # Errors
//
// Handlers return an [*Error] made by one of the constructors, with a code
// of the closed set that the operation declares; [IO] turns errors of the
// operating system into one. Any other error reaches the client as internal,
// and is a bug.
//
// # Concurrency
//
// Operations of effect read run concurrently, after all earlier writes of
// their connection. Operations that write run in arrival order for each of
// their Keys (those of effect write without Keys: for their namespace), and so
// do reads that have Keys, like buffer.open. A key "buffer" holds all of
// "buffer:…".
// Handlers of different connections run concurrently: a namespace guards its
// own state. A handler gets a context that ends after [AnswerTimeout].
package op
