package op

// An Event declares one event with params P. It is a variable in wire/core
// and isn't changed.
type Event[P any] struct {
	// Name is namespace.pastParticiple.
	Name string
	// Since is the protocol level that brought it.
	Since int
	// Doc continues the name: "tells that a buffer's text changed."
	Doc string
	// Bulk events have no seq, aren't replayed, and go to the run's client
	// and to those that ask for them (core.md §2).
	Bulk bool
}

// An EventDesc describes an event.
type EventDesc struct {
	// Event is the name.
	Event string `json:"event"`
	// Doc is a sentence or more that continues the name.
	Doc string `json:"doc"`
	// Since is the protocol level that brought it.
	Since int `json:"since"`
	// Bulk events have no seq and aren't replayed.
	Bulk bool `json:"bulk,omitzero"`
	// Params is the JSON Schema of the params.
	Params Schema `json:"params"`
}

// An EventDeclaration is an [Event] whatever its type.
type EventDeclaration interface {
	// DescribeEvent returns the declaration as data.
	DescribeEvent() EventDesc
	// ParamsType returns a zero value of the params, for generators.
	ParamsType() any
}

// DescribeEvent returns the declaration as data.
func (e *Event[P]) DescribeEvent() EventDesc {
	return EventDesc{
		Event: e.Name, Doc: e.Doc, Since: e.Since, Bulk: e.Bulk,
		Params: SchemaOf(*new(P), Open),
	}
}

// ParamsType returns a zero value of the params.
func (e *Event[P]) ParamsType() any { return *new(P) }

// A Message is an event on its way to the hub.
type Message struct {
	// Event is the name.
	Event string
	// Params is what to encode where no position is in it.
	Params any
	// ByUnit gives the params for a position unit, where positions are in
	// them. It is pure, may be called later, and from any goroutine.
	ByUnit func(Unit) any
}

// With is the event with params that hold no position. They are encoded
// before Emit returns.
func (e *Event[P]) With(p P) Message { return Message{Event: e.Name, Params: p} }

// ByUnit is the event with params that hold positions: f gives them in the
// unit asked for, once for each unit in use at most. f is pure, may be
// called later and from any goroutine.
func (e *Event[P]) ByUnit(f func(Unit) P) Message {
	return Message{Event: e.Name, ByUnit: func(u Unit) any { return f(u) }}
}

// An Emitter sends events to the attached clients.
type Emitter interface {
	// Emit appends the event to the core's sequence. It never blocks on a
	// client, and may be called from any goroutine.
	Emit(Message)
}
