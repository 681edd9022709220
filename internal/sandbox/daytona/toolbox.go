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

// toolbox speaks to the daemon inside one sandbox.
type toolbox struct {
	base string // of all calls, without a trailing slash
	api  *toolboxclient.APIClient
	http *http.Client
	head http.Header // of the calls that the official client does not make
}

// toolbox finds the daemon: the proxy's address comes from the sandbox and may change.
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
		return nil, task.Errorf(task.CodeUnavailable, "Daytona names no usable toolbox of sandbox %s", box.Name).WithCause(err)
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
	conf.AddDefaultHeader(headerNoActivity, "true") // what it does must not count as activity
	tb.api = toolboxclient.NewAPIClient(conf)
	return tb, nil
}

// version succeeds if the daemon answers.
func (t *toolbox) version(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, resp, err := t.api.InfoAPI.GetVersion(ctx).Execute()
	defer closeBody(resp)
	return classify("reach the toolbox", resp, err)
}

// said is what a script inside printed, and how it ended.
type said struct {
	code int
	text string
}

// scriptTimeout bounds a script: the proxies between cut a quiet call after a minute.
const scriptTimeout = 40 * time.Second

// script runs one of our scripts to its end.
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

// undecided turns a refusal that a call cannot deserve into what it means: the proxy has no address
// of the sandbox, since that stops or is archived, or the disk inside is full.
func undecided(err error) error {
	switch task.CodeOf(err) {
	case task.CodeNotFound, task.CodeInvalid, task.CodeConflict, task.CodeGone:
		return task.Errorf(task.CodeUnavailable, "%s", task.MessageOf(err)).WithCause(err)
	default:
		return err
	}
}

// session makes a shell of this name; one that is there already is as good.
func (t *toolbox) session(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	resp, err := t.api.ProcessAPI.CreateSession(ctx).Request(*toolboxclient.NewCreateSessionRequest(id)).Execute()
	defer closeBody(resp)
	return ignore(classify("open a session in the sandbox", resp, err), task.CodeConflict)
}

// commands lists what a session ran, the first first; [task.CodeNotFound] without such a session.
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

// run starts a command in a session and does not wait for it.
func (t *toolbox) run(ctx context.Context, session, command string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ask := *toolboxclient.NewSessionExecuteRequest(command)
	ask.SetRunAsync(true)
	_, resp, err := t.api.ProcessAPI.SessionExecuteCommand(ctx, session).Request(ask).Execute()
	defer closeBody(resp)
	return classify("start a command in the sandbox", resp, err)
}

// endSession ends a session with its shell and log.
func (t *toolbox) endSession(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	resp, _ := t.api.ProcessAPI.DeleteSession(ctx, id).Execute()
	closeBody(resp)
}

// raw is a call that the official client cannot make: it streams.
func (t *toolbox) raw(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header = t.head.Clone()
	return req, nil
}

// send makes a raw call. The caller closes the body of a success.
func (t *toolbox) send(req *http.Request, doing string) (*http.Response, error) {
	resp, err := t.http.Do(req)
	if err != nil {
		return nil, classify(doing, nil, err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer closeBody(resp)
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // half an error says as much as none
	return nil, meaning(doing, read(resp, body))
}
