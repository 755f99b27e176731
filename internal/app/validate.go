package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"dragoman/wire/core"
	"dragoman/wire/envelope"
	"dragoman/wire/ndjson"
	"dragoman/wire/op"
)

// A finding is what is wrong with a line.
type finding struct {
	code    string
	offset  int
	message string
}

// A judge gives the verdict on one line, each by itself; nil is valid.
type judge func(line []byte) *finding

// A dialect is something that `validate` can judge.
type dialect struct {
	name, short string
	// maxLineBytes is the longest line.
	maxLineBytes int
	// tooLong is the finding for a longer one.
	tooLong func(size int64) *finding
	judge   func() judge
}

// dialects is the one list of what `validate` judges.
func dialects() []dialect {
	return []dialect{
		{
			name: "envelope", short: "envelopes of agent protocol v1",
			maxLineBytes: envelope.DefaultLineBytes,
			tooLong: func(size int64) *finding {
				return envelopeFinding(envelope.TooLarge(envelope.DefaultLineBytes, size))
			},
			judge: judgeEnvelope,
		},
		{
			name: "core", short: "lines of the core protocol: requests, responses and events",
			maxLineBytes: core.MaxLine,
			tooLong: func(size int64) *finding {
				return coreFinding(core.LineError(&ndjson.LineTooLongError{Limit: core.MaxLine, Size: size}))
			},
			judge: judgeCore,
		},
	}
}

func judgeCore() judge {
	c := core.NewChecker()
	return func(line []byte) *finding { return coreFinding(c.Check(line)) }
}

func coreFinding(e *op.Error) *finding {
	if e == nil {
		return nil
	}
	offset, _ := e.Data["offset"].(int)
	return &finding{string(e.Code), offset, e.Message}
}

func judgeEnvelope() judge {
	d := envelope.NewDecoder(envelope.Limits{})
	return func(line []byte) *finding {
		_, err := d.Decode(line)
		var wrong *envelope.Error
		if !errors.As(err, &wrong) {
			return nil
		}
		return envelopeFinding(wrong)
	}
}

func envelopeFinding(e *envelope.Error) *finding {
	return &finding{string(e.Code), e.Offset, e.Detail}
}

func newValidate(e *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "validate",
		Short: "judge lines of a protocol: a verdict for each, with code and byte offset",
		Long: `Judge each line of FILE, or of stdin, by itself: no rule that needs another line
applies. Blank lines are counted and get no verdict. Exit code 1 if any line is
invalid.`,
		Example: `  dragoman validate envelope session.jsonl
  my-agent </dev/null | dragoman validate envelope --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return &ExitError{ExitUsage, errors.New("name what to validate: see --help")}
		},
	}
	for _, d := range dialects() {
		c.AddCommand(newValidateDialect(e, d))
	}
	return c
}

func newValidateDialect(e *Env, d dialect) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     d.name + " [FILE]",
		Short:   "judge " + d.short,
		Example: "  dragoman validate " + d.name + " --json session.jsonl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in := e.In
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return &ExitError{ExitUsage, err}
				}
				defer f.Close()
				in = f
			}
			v := &validation{dialect: d, print: printVerdict}
			if asJSON {
				v.print = printVerdictJSON
			}
			return v.run(in, e.Out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print {line, ok, code?, offset?, message?} a line")
	return c
}

// A verdict is the one on a line; its JSON is what --json prints.
type verdict struct {
	Line    int64  `json:"line"`
	OK      bool   `json:"ok"`
	Code    string `json:"code,omitzero"`
	Offset  *int   `json:"offset,omitzero"`
	Message string `json:"message,omitzero"`
}

func printVerdict(w io.Writer, v verdict) error {
	if v.OK {
		_, err := fmt.Fprintf(w, "%d: ok\n", v.Line)
		return err
	}
	_, err := fmt.Fprintf(w, "%d: %s at byte %d: %s\n", v.Line, v.Code, *v.Offset, v.Message)
	return err
}

func printVerdictJSON(w io.Writer, v verdict) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// A validation is one run over a stream.
type validation struct {
	dialect dialect
	print   func(io.Writer, verdict) error
}

func (v *validation) run(in io.Reader, out io.Writer) (err error) {
	w := bufio.NewWriter(out)
	defer func() {
		if flushErr := w.Flush(); err == nil && flushErr != nil {
			err = &ExitError{ExitFailed, flushErr}
		}
	}()
	r := ndjson.NewReader(in, ndjson.ReaderOptions{MaxLineBytes: v.dialect.maxLineBytes})
	judge := v.dialect.judge()
	invalid := 0
	for {
		line, err := r.Next()
		var long *ndjson.LineTooLongError
		var found *finding
		switch {
		case errors.As(err, &long):
			found = v.dialect.tooLong(long.Size)
		case errors.Is(err, io.EOF):
			return invalidError(invalid)
		case err != nil:
			return &ExitError{ExitFailed, err}
		default:
			found = judge(line)
		}
		verdict := verdict{Line: r.Line(), OK: found == nil}
		if found != nil {
			invalid++
			verdict.Code, verdict.Offset, verdict.Message = found.code, &found.offset, found.message
		}
		if err := v.print(w, verdict); err != nil {
			return &ExitError{ExitFailed, err}
		}
		// Whoever pipes lines in wants each verdict as its line came.
		if !r.Buffered() {
			if err := w.Flush(); err != nil {
				return &ExitError{ExitFailed, err}
			}
		}
	}
}

// invalidError is exit code 1 without a word: the verdicts say it all.
func invalidError(invalid int) error {
	if invalid > 0 {
		return &ExitError{Code: ExitFailed}
	}
	return nil
}
