package acp

// Categories of config options that we know by name (sidecar.md §5).
const (
	CategoryModel      = "model"
	CategoryMode       = "mode"
	CategoryEffort     = "thought_level"
	CategoryPermission = "permissions"
)

// A Select is a config option with a list of values.
type Select struct {
	ID      string
	Current string
	// Values are those offered, groups flattened.
	Values []string
}

// FindSelect finds, in a list of config options, the select whose category is
// word, else the one whose id is.
func FindSelect(configOptions []byte, word string) (s Select, ok bool) {
	list, _ := List(configOptions)
	for _, member := range []string{"category", "id"} {
		for _, item := range list {
			o := AsObject(item)
			if o.Str("type") == "select" && o.Str(member) == word {
				return readSelect(o), true
			}
		}
	}
	return s, false
}

// SelectByID finds the select with that id.
func SelectByID(configOptions []byte, id string) (s Select, ok bool) {
	list, _ := List(configOptions)
	for _, item := range list {
		if o := AsObject(item); o.Str("type") == "select" && o.Str("id") == id {
			return readSelect(o), true
		}
	}
	return s, false
}

func readSelect(o Object) Select {
	s := Select{ID: o.Str("id"), Current: o.Str("currentValue")}
	list, _ := o.List("options")
	for _, item := range list {
		o := AsObject(item)
		if grouped, ok := o.List("options"); ok {
			for _, inner := range grouped {
				s.add(AsObject(inner))
			}
			continue
		}
		s.add(o)
	}
	return s
}

func (s *Select) add(option Object) {
	if value, ok := option.Text("value"); ok {
		s.Values = append(s.Values, value)
	}
}

// A Choice is a list of ids with a current one: `modes` or `models`.
type Choice struct {
	Current string
	IDs     []string
}

// ReadModes reads a mode state; ok is false where there is none.
func ReadModes(modes []byte) (c Choice, ok bool) {
	return readChoice(modes, "currentModeId", "availableModes", "id")
}

// ReadModels reads a model state, whose entries say `modelId` or `id`; ok is
// false where there is none.
func ReadModels(models []byte) (c Choice, ok bool) {
	return readChoice(models, "currentModelId", "availableModels", "modelId", "id")
}

func readChoice(value []byte, current, available string, ids ...string) (c Choice, ok bool) {
	o := AsObject(value)
	list, ok := o.List(available)
	if !ok {
		return c, false
	}
	c.Current = o.Str(current)
	for _, item := range list {
		for _, name := range ids {
			if id, ok := AsObject(item).Text(name); ok {
				c.IDs = append(c.IDs, id)
				break
			}
		}
	}
	return c, true
}

// cleanIDMax is how much of a model's id a host may have kept.
const cleanIDMax = 160

// CleanID drops from an agent's id everything but letters, digits and
// `._-+:[]=,`, and what is over 160 bytes: the form in which hosts hand ids
// back (sidecar.md §5).
func CleanID(id string) string {
	clean := make([]byte, 0, len(id))
	for i := 0; i < len(id) && len(clean) < cleanIDMax; i++ {
		if keptInID(id[i]) {
			clean = append(clean, id[i])
		}
	}
	return string(clean)
}

func keptInID(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '.', '_', '-', '+', ':', '[', ']', '=', ',':
		return true
	}
	return false
}
