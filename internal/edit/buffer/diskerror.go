package buffer

// DiskError turns what reading or writing the file at path failed with into an
// *Error; one that is an *Error already stays what it is.
func DiskError(path string, err error) error { return diskError(path, err) }
