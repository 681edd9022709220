package daytona

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/task"
)

const (
	// sdkVersion selects the format of the toolbox's answers.
	sdkVersion = "0.205.1"
	source     = "omoi"

	headerVersion = "X-Daytona-Sdk-Version"
	headerSource  = "X-Daytona-Source"
	// headerNoActivity marks a request that does not count as activity, so that it does not delay the auto-stop.
	headerNoActivity = "X-Daytona-Skip-Last-Activity-Update"
)

// Timeouts of one call, by kind.
const (
	readTimeout   = 10 * time.Second
	writeTimeout  = time.Minute
	createTimeout = 90 * time.Second
)

// client calls Daytona's main API.
type client struct {
	api  *apiclient.APIClient
	http *http.Client
	head map[string]string
}

func newClient(cfg Config) *client {
	c := &client{
		http: &http.Client{Transport: transport{http.DefaultTransport}},
		head: map[string]string{"Authorization": "Bearer " + cfg.APIKey, headerVersion: sdkVersion, headerSource: source},
	}
	conf := apiclient.NewConfiguration()
	conf.Servers = apiclient.ServerConfigurations{{URL: cfg.APIURL}}
	conf.HTTPClient, conf.UserAgent, conf.DefaultHeader = c.http, source, c.head
	c.api = apiclient.NewAPIClient(conf)
	return c
}

// get returns a sandbox by name or ID. A missing sandbox is [task.CodeNotFound].
func (c *client) get(ctx context.Context, nameOrID string) (*apiclient.Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	box, resp, err := c.api.SandboxAPI.GetSandbox(ctx, nameOrID).Execute()
	defer closeBody(resp)
	return box, classify("read sandbox "+nameOrID, resp, err)
}

func (c *client) create(ctx context.Context, ask apiclient.CreateSandbox) (*apiclient.Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	box, resp, err := c.api.SandboxAPI.CreateSandbox(ctx).CreateSandbox(ask).Execute()
	defer closeBody(resp)
	return box, classify("create sandbox "+ask.GetName(), resp, err)
}

func (c *client) delete(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, resp, err := c.api.SandboxAPI.DeleteSandbox(ctx, id).Execute()
	defer closeBody(resp)
	return classify("delete sandbox "+id, resp, err)
}

func (c *client) start(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, resp, err := c.api.SandboxAPI.StartSandbox(ctx, id).Execute()
	defer closeBody(resp)
	return classify("start sandbox "+id, resp, err)
}

// keepAlive resets the auto-stop timer of the sandbox.
func (c *client) keepAlive(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	resp, err := c.api.SandboxAPI.UpdateLastActivity(ctx, id).Execute()
	defer closeBody(resp)
	return classify("reset the auto-stop timer of sandbox "+id, resp, err)
}

func (c *client) toolboxURL(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, resp, err := c.api.SandboxAPI.GetToolboxProxyUrl(ctx, id).Execute()
	defer closeBody(resp)
	if err := classify("find the toolbox of sandbox "+id, resp, err); err != nil {
		return "", err
	}
	return found.GetUrl(), nil
}

// maxPages is the maximum number of pages of a list, because a faulty server may return cursors without end.
const maxPages = 1000

// list returns the sandboxes with these labels, from all pages.
func (c *client) list(ctx context.Context, labels map[string]string) ([]apiclient.SandboxListItem, error) {
	filter, err := json.Marshal(labels)
	if err != nil {
		return nil, err
	}
	var all []apiclient.SandboxListItem
	cursor := ""
	for range maxPages {
		page, err := c.page(ctx, string(filter), cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetItems()...)
		next := page.NextCursor.Get()
		if next == nil || *next == "" || *next == cursor {
			return all, nil
		}
		cursor = *next
	}
	return nil, task.Errorf(task.CodeUnavailable, "Daytona's list of sandboxes has no last page")
}

func (c *client) page(ctx context.Context, filter, cursor string) (*apiclient.ListSandboxesResponse, error) {
	const most = 200
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	call := c.api.SandboxAPI.ListSandboxes(ctx).Limit(most)
	if filter != "{}" {
		call = call.Labels(filter)
	}
	if cursor != "" {
		call = call.Cursor(cursor)
	}
	page, resp, err := call.Execute()
	defer closeBody(resp)
	return page, classify("list sandboxes", resp, err)
}

func (c *client) snapshot(ctx context.Context, name string) (*apiclient.SnapshotDto, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, resp, err := c.api.SnapshotsAPI.GetSnapshot(ctx, name).Execute()
	defer closeBody(resp)
	return found, classify("read snapshot "+name, resp, err)
}

func (c *client) activate(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, resp, err := c.api.SnapshotsAPI.ActivateSnapshot(ctx, id).Execute()
	defer closeBody(resp)
	return classify("activate the snapshot", resp, err)
}

// closeBody closes the body of a response. The official clients close it already in the current version.
func closeBody(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
}
