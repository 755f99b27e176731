package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"dragoman/internal/lane"
	"dragoman/wire/agent"
	"dragoman/wire/ndjson"

	"github.com/go-json-experiment/json"
)

const (
	stageTransport = "session/transport"
	stageSetModel  = "session/set_model"
)

const user = "opencode"

// Limits of replies in bytes.
const (
	maxReply  = 64 << 20
	maxDetail = 500 // of an error reply that is quoted
)

// client speaks to one server.
type client struct {
	base     string
	password string
	http     *http.Client
	process  lane.Process
}

func newClient(a announcement, p lane.Process) *client {
	return &client{
		base: strings.TrimRight(a.url, "/"), password: a.password, process: p,
		http: &http.Client{
			// Neither a proxy nor a redirect leads off this machine.
			Transport:     &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// request is one request: where, with what, and how its failure counts.
type request struct {
	method, path string
	body         any // nil for none
	stage        string
	quota        agent.Certainty
}

// do returns the member data of the reply. Its error is an *agent.Error.
func (c *client) do(ctx context.Context, r request) ([]byte, error) {
	status, reply, err := c.send(ctx, r)
	if err != nil {
		detail := "the connection broke: " + bare(err).Error() + ": " + c.ending(ctx)
		return nil, agent.FailFlags(agent.CodeProtocolFailed, r.stage, detail, agent.FlagsBroken)
	}
	if status < 200 || status > 299 {
		text := string(reply)
		detail := c.redact(fmt.Sprintf("HTTP status %d: %s", status, clip(text)))
		if status == http.StatusTooManyRequests || agent.Quota(text) {
			return nil, agent.FailQuota(r.stage, detail, r.quota)
		}
		return nil, agent.FailFlags(agent.CodeProtocolFailed, r.stage, detail, agent.FlagsFinal)
	}
	fixed, _, err := ndjson.Repair(nil, reply)
	if err != nil {
		return nil, unreadable(r.stage)
	}
	data, _, ok := ndjson.Get(fixed, "data")
	if !ok {
		return nil, unreadable(r.stage)
	}
	return data, nil
}

func unreadable(stage string) *agent.Error {
	return agent.FailFlags(agent.CodeProtocolFailed, stage, "the reply can't be read", agent.FlagsFinal)
}

func (c *client) send(ctx context.Context, r request) (status int, reply []byte, err error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return 0, nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, body)
	if err != nil {
		return 0, nil, err
	}
	req.SetBasicAuth(user, c.password)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	if err == nil && len(reply) > maxReply {
		err = fmt.Errorf("the reply is over the limit of %d bytes", maxReply)
	}
	return res.StatusCode, reply, err
}

// ending says what became of the process, if anything did.
func (c *client) ending(ctx context.Context) string {
	select {
	case <-c.process.Exited():
		return lane.Ending(ctx, c.process)
	default:
		return "the agent runs"
	}
}

// bare is err without the URL around it.
func bare(err error) error {
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}

func (c *client) redact(text string) string {
	if c.password == "" {
		return text
	}
	return strings.ReplaceAll(text, c.password, "[redacted]")
}

func clip(text string) string {
	if len(text) > maxDetail {
		text = text[:maxDetail]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// sessionPath is a path below a session.
func sessionPath(id, rest string) string { return "/api/session/" + url.PathEscape(id) + rest }

// createSession returns the new session's id.
func (c *client) createSession(ctx context.Context) (string, error) {
	data, err := c.do(ctx, request{method: http.MethodPost, path: "/api/session", body: struct{}{}, stage: stageTransport})
	if err != nil {
		return "", err
	}
	raw, _, _ := ndjson.Get(data, "id")
	id, _ := agent.String(raw)
	if id == "" {
		return "", unreadable(stageTransport)
	}
	return id, nil
}

// defaultProvider is a model's where its name has none.
const defaultProvider = "opencode"

// setModel sets the model of a session, PROVIDER/MODEL or MODEL.
func (c *client) setModel(ctx context.Context, session, model string) error {
	type ref struct {
		ID         string `json:"id"`
		ProviderID string `json:"providerID"`
	}
	provider, id, ok := strings.Cut(model, "/")
	if !ok {
		provider, id = defaultProvider, model
	}
	body := struct {
		Model ref `json:"model"`
	}{ref{ID: id, ProviderID: provider}}
	_, err := c.do(ctx, request{method: http.MethodPost, path: sessionPath(session, "/model"), body: body, stage: stageSetModel})
	return err
}
