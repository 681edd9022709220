package daytona

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"
	toolboxclient "github.com/daytonaio/daytona/libs/toolbox-api-client-go"

	"github.com/omoi-dev/omoi/internal/task"
)

// toolbox calls the daemon in one sandbox.
type toolbox struct {
	base string // base URL of all calls, without a trailing slash
	api  *toolboxclient.APIClient
	http *http.Client
	head http.Header // headers of calls without the official client
}

// toolbox returns the toolbox of a sandbox. Its address comes from the sandbox, because it may change.
func (p *Provider) toolbox(ctx context.Context, box *apiclient.Sandbox) (*toolbox, error) {
	address := box.ToolboxProxyUrl
	if address == "" {
		var err error
		if address, err = p.client.toolboxURL(ctx, box.Id); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, task.Errorf(task.CodeUnavailable, "Daytona returned an invalid address for the toolbox of sandbox %s", box.Name).WithCause(err)
	}
	base := strings.TrimRight(address, "/") + "/" + box.Id
	tb := &toolbox{base: base, http: p.client.http, head: http.Header{"User-Agent": {source}}}
	conf := toolboxclient.NewConfiguration()
	conf.Servers = toolboxclient.ServerConfigurations{{URL: tb.base}}
	conf.HTTPClient, conf.UserAgent = tb.http, source
	for key, value := range p.client.head {
		tb.head.Set(key, value)
		conf.AddDefaultHeader(key, value)
	}
	conf.AddDefaultHeader(headerNoActivity, "true") // calls must not count as activity
	tb.api = toolboxclient.NewAPIClient(conf)
	return tb, nil
}

// version returns nil if the daemon answers.
func (t *toolbox) version(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, resp, err := t.api.InfoAPI.GetVersion(ctx).Execute()
	defer closeBody(resp)
	return classify("reach the toolbox", resp, err)
}

// said is the output and exit code of a script.
type said struct {
	code int
	text string
}

// scriptTimeout is the timeout of a script. Proxies end a connection without data after one minute.
const scriptTimeout = 40 * time.Second

// script runs an embedded script to its end.
func (t *toolbox) script(ctx context.Context, name string, args ...string) (said, error) {
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout+readTimeout)
	defer cancel()
	ask := *toolboxclient.NewExecuteRequest(commandLine(name, args...))
	ask.SetCwd("/")
	ask.SetTimeout(int32(scriptTimeout / time.Second))
	out, resp, err := t.api.ProcessAPI.ExecuteCommand(ctx).Request(ask).Execute()
	defer closeBody(resp)
	if err := undecided(classify("run a command in the sandbox", resp, err)); err != nil {
		return said{}, err
	}
	return said{code: int(out.GetExitCode()), text: strings.TrimSpace(out.Result)}, nil
}

// undecided converts refusals that say nothing about the call to [task.CodeUnavailable]: the proxy has no address of a
// stopped sandbox, or the disk is full.
func undecided(err error) error {
	switch task.CodeOf(err) {
	case task.CodeNotFound, task.CodeInvalid, task.CodeConflict, task.CodeGone:
		return task.Errorf(task.CodeUnavailable, "%s", task.MessageOf(err)).WithCause(err)
	default:
		return err
	}
}

// session opens a session. An existing one is a success.
func (t *toolbox) session(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	resp, err := t.api.ProcessAPI.CreateSession(ctx).Request(*toolboxclient.NewCreateSessionRequest(id)).Execute()
	defer closeBody(resp)
	return ignore(classify("open a session in the sandbox", resp, err), task.CodeConflict)
}

// commands returns the commands of a session, oldest first. A missing session is [task.CodeNotFound].
func (t *toolbox) commands(ctx context.Context, id string) ([]toolboxclient.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, resp, err := t.api.ProcessAPI.GetSession(ctx, id).Execute()
	defer closeBody(resp)
	if err := classify("read a session of the sandbox", resp, err); err != nil {
		return nil, err
	}
	return found.Commands, nil
}

// run starts a command in a session without waiting for its end.
func (t *toolbox) run(ctx context.Context, session, command string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ask := *toolboxclient.NewSessionExecuteRequest(command)
	ask.SetRunAsync(true)
	_, resp, err := t.api.ProcessAPI.SessionExecuteCommand(ctx, session).Request(ask).Execute()
	defer closeBody(resp)
	return classify("start a command in the sandbox", resp, err)
}

// endSession deletes a session with its shell and log.
func (t *toolbox) endSession(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	resp, _ := t.api.ProcessAPI.DeleteSession(ctx, id).Execute()
	closeBody(resp)
}

// raw returns a streaming request, which the official client cannot send.
func (t *toolbox) raw(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header = t.head.Clone()
	return req, nil
}

// send sends a raw request. The caller closes the body of a success.
func (t *toolbox) send(req *http.Request, doing string) (*http.Response, error) {
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, classify(doing, nil, err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer closeBody(resp)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // a partial body is enough
	return nil, meaning(doing, read(resp, body))
}
