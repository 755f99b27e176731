package buffer

// WireError turns an error of the engine into the protocol's; others stay what
// they are.
func WireError(err error) error { return wireError(err) }
