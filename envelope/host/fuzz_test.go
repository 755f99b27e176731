package host_test

import (
	"context"
	"io"
	"testing"

	"dragoman/envelope/host"
)

// Whatever an agent says, a request ends, once, and so does the host.
func FuzzHost(f *testing.F) {
	for _, after := range []string{
		"garbage\n",
		head + `"kind":"event","messageId":"a2","requestId":"r1","event":"completed"}` + "\n",
		head + `"kind":"event","messageId":"a2","requestId":"r1","event":"x","output":{}}` + "\n" +
			head + `"kind":"cancel","messageId":"a3","requestId":"r1"}` + "\n" +
			head + `"kind":"event","messageId":"a4","requestId":"r1","event":"cancelled"}` + "\n",
		head + `"kind":"error","messageId":"a2","code":"X","message":""}` + "\n",
	} {
		f.Add([]byte(after), false)
		f.Add([]byte(after), true)
	}
	f.Fuzz(func(t *testing.T, after []byte, lenient bool) {
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		c := host.Config{Grants: grants}
		if lenient {
			c.Strictness = host.Lenient
		}
		// It reads all the time, says its lines and ends.
		says := host.Pipe(func(_ context.Context, r io.Reader, w io.Writer) error {
			go func() { _, _ = io.Copy(io.Discard, r) }()
			if _, err := io.WriteString(w, hello); err != nil {
				return err
			}
			_, err := w.Write(after)
			return err
		})
		h, err := host.Start(ctx, says, c)
		if err != nil {
			return
		}
		_, _ = h.Request(ctx, "echo", nil, host.RequestOptions{})
		if ctx.Err() != nil {
			t.Fatal("the request hung")
		}
		if err := h.Close(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
