package proc

import (
	"io/fs"
	"os"
	"strings"
)

// defaultExtensions is what Windows itself takes without a PATHEXT.
const defaultExtensions = ".COM;.EXE;.BAT;.CMD"

func sameName(a, b string) bool { return strings.EqualFold(a, b) }

// executable returns file, with one of the extensions of PATHEXT if it has
// none of them.
func executable(file string, env []string) (string, error) {
	list, ok := lookupEnv(env, "PATHEXT")
	if !ok || list == "" {
		list = defaultExtensions
	}
	candidates := []string{}
	for _, extension := range strings.Split(list, ";") {
		if extension == "" {
			continue
		}
		if strings.HasSuffix(strings.ToLower(file), strings.ToLower(extension)) {
			candidates = append([]string{file}, candidates...)
			continue
		}
		candidates = append(candidates, file+extension)
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
			return candidate, nil
		}
	}
	return "", &fs.PathError{Op: "execute", Path: file, Err: fs.ErrNotExist}
}
