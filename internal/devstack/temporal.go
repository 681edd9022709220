package devstack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

const (
	loopback    = "127.0.0.1"
	temporalLog = "temporal.log"
)

// temporal is the Temporal development server. Its state is one SQLite file below home.
type temporal struct {
	cfg  Config
	path string
	port int
	web  *web
}

func prepareTemporal(ctx context.Context, cfg Config, last Info) (*temporal, error) {
	path, err := FindTemporal(cfg.TemporalBin)
	if err != nil {
		return nil, err
	}
	t := &temporal{cfg: cfg, path: path}
	if err := endLeftover(ctx, t.mark(), 10*time.Second); err != nil {
		return nil, err
	}
	cfg.TemporalPort.Last, cfg.TemporalUIPort.Last = PortOf(last.TemporalAddress), PortOf(last.TemporalUIURL)
	if t.port, err = cfg.TemporalPort.Choose(ctx, loopback, "dev.temporal_port"); err != nil {
		return nil, err
	}
	t.web, err = openWeb(ctx, cfg)
	return t, err
}

func (t *temporal) mark() string    { return filepath.Join(t.cfg.Home, "temporal.pid") }
func (t *temporal) address() string { return net.JoinHostPort(loopback, strconv.Itoa(t.port)) }

func (t *temporal) program() program {
	args := []string{
		"server", "start-dev", "--ip", loopback, "--port", strconv.Itoa(t.port),
		"--ui-ip", t.web.host, "--ui-port", strconv.Itoa(t.web.port),
		"--db-filename", filepath.Join(t.cfg.Home, "temporal.db"), "--namespace", t.cfg.Namespace, "--log-level", "error",
		"--disable-config-env", "--disable-config-file",
		"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=full", // durable as the default mode, with half the writes
		// The Web UI and tests list workflows in bursts, and there is only one tenant.
		"--dynamic-config-value", "frontend.namespaceRPS.visibility=500",
		"--dynamic-config-value", "frontend.namespaceRPS=10000",
		"--dynamic-config-value", "frontend.namespaceCount=5000",
		// The default of 20 polls a second would delay each step of a task by up to 50 ms.
		"--dynamic-config-value", "history.transferProcessorMaxPollRPS=1000",
		"--dynamic-config-value", "history.timerProcessorMaxPollRPS=1000",
		"--dynamic-config-value", "history.visibilityProcessorMaxPollRPS=1000",
		// By default Temporal caches 128,000 workflows, closed ones too, and 8 MiB of events for replication: 17 MiB
		// for each 100 tasks. 512 are more than the open workflows of one machine.
		"--dynamic-config-value", "history.hostLevelCacheMaxSize=512",
		"--dynamic-config-value", "history.xdcCacheMaxSizeBytes=0",
		// The HTTP API has no authentication and accepts requests of any web page. No browser sends this host name.
		// Nexus has routes that do not check the name.
		"--dynamic-config-value", `frontend.httpAllowedHosts=["omoi.invalid"]`,
		"--dynamic-config-value", "system.enableNexus=false",
	}
	for _, name := range t.cfg.SearchAttributes {
		args = append(args, "--search-attribute", name+"=Keyword")
	}
	end := syscall.SIGTERM
	if t.cfg.Throwaway {
		end = syscall.SIGKILL
	}
	return program{
		name: "Temporal", path: t.path, args: args, more: t.metrics, env: []string{"PATH=/usr/bin:/bin", "HOME=" + t.cfg.Home},
		dir: t.cfg.Home, log: filepath.Join(t.cfg.Home, temporalLog), end: end, die: syscall.SIGTERM, mark: t.mark(),
	}
}

// metrics returns the port of Temporal's metrics, which cannot be disabled: a port to which no browser connects.
func (t *temporal) metrics(ctx context.Context) []string {
	return []string{"--metrics-port", strconv.Itoa(unsafePort(ctx, t.web.port))}
}

// ready checks the namespace, the list of workflows, and the first page of the Web UI.
func (t *temporal) ready(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.address()) // fails at once; the client below would retry
	if err == nil {
		err = conn.Close()
	}
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	if err := t.ask(ctx, "ask Temporal for its namespace and workflows", t.namespace, t.workflows); err != nil {
		return err
	}
	return t.uiReady(ctx)
}

// answers reads from Temporal's store and writes to it. Temporal's gRPC health check does not use the store, and a
// store whose write-ahead log is locked still answers reads.
func (t *temporal) answers(ctx context.Context) error {
	return t.ask(ctx, "read and write the namespace of Temporal", t.namespace, t.describe)
}

func (t *temporal) ask(ctx context.Context, doing string, questions ...func(context.Context, client.Client) error) error {
	c, err := client.NewLazyClient(client.Options{HostPort: t.address(), Namespace: t.cfg.Namespace, Logger: sdklog.NewStructuredLogger(t.cfg.Log)})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer c.Close()
	for _, question := range questions {
		if err := question(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	return nil
}

func (t *temporal) namespace(ctx context.Context, c client.Client) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.cfg.Namespace})
	return err
}

// describe writes the description of the namespace, usually unchanged: the cheapest write.
func (t *temporal) describe(ctx context.Context, c client.Client) error {
	request := &workflowservice.UpdateNamespaceRequest{Namespace: t.cfg.Namespace, UpdateInfo: &namespace.UpdateNamespaceInfo{Description: "omoi dev"}}
	_, err := c.WorkflowService().UpdateNamespace(ctx, request)
	return err
}

func (t *temporal) workflows(ctx context.Context, c client.Client) error {
	_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: t.cfg.Namespace})
	return err
}

func (t *temporal) uiReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.web.url(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("call the Temporal Web UI: %w", err)
	}
	if err = response.Body.Close(); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("call the Temporal Web UI: %s", response.Status)
	}
	return err
}
