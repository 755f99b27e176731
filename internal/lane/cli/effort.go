package cli

import (
	"strings"

	"dragoman/internal/lane/template"
	"dragoman/wire/agent"
)

// fastTier stays at the end of a model's name.
const fastTier = "-fast"

// withEffort rewrites the tier in a model's name: the longest of suffixes
// behind a dash goes, unless nothing would be left, and effort takes its
// place; a trailing -fast stays.
func withEffort(model, effort string, suffixes []string) string {
	base, fast := strings.CutSuffix(model, fastTier)
	longest := ""
	for _, s := range suffixes {
		if len(s) > len(longest) && strings.HasSuffix(base, "-"+s) && len(base) > len(s)+1 {
			longest = s
		}
	}
	if longest != "" {
		base = base[:len(base)-len(longest)-1]
	}
	base += "-" + effort
	if fast {
		base += fastTier
	}
	return base
}

// setEffort fills {model} and {effort}. hasEffort tells whether {effort}
// stands in what this turn sends.
func (p *spec) setEffort(v template.Values, model, effort *string, hasEffort bool) error {
	if model != nil {
		v.SetModel(*model)
	}
	switch {
	case effort == nil:
	case len(p.effortSuffixes) == 0:
		v[template.Effort] = *effort
	case model != nil:
		v.SetModel(withEffort(*model, *effort, p.effortSuffixes))
	case hasEffort:
		v[template.Effort] = *effort
	default:
		return agent.Fail(agent.CodeEffortUnsupported, stageArgs, "this agent takes an effort only as part of a model's name, and no model is given")
	}
	return nil
}
