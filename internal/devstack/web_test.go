package devstack_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/omoi-dev/omoi/internal/devstack"
)

// temporalOnly starts a stack without PostgreSQL.
func temporalOnly(t *testing.T) (devstack.Config, devstack.Info) {
	t.Helper()
	cfg := prepared(t)
	cfg.DatabaseURL = "postgres://unused"
	return cfg, start(t, cfg).Info()
}

// Temporal's HTTP API refuses requests that a web page can send without a preflight, on each of its ports.
func TestTemporal_HTTPAPIRefusesWebPages(t *testing.T) {
	t.Parallel()
	cfg, info := temporalOnly(t)
	startWorkflow(t, info, "kept")
	const workflow = `{"workflowType":{"name":"evil"},"taskQueue":{"name":"none"}`
	refused := 0
	for _, base := range listening(t, temporalPID(t, cfg)) {
		for path, body := range map[string]string{
			"/namespaces/default/batch-operations/evil":   `{"visibilityQuery":"WorkflowId='kept'","reason":"evil","terminationOperation":{}}`,
			"/namespaces/default/schedules/evil":          `{"schedule":{"action":{"startWorkflow":` + workflow + `,"workflowId":"evil"}}}}`,
			"/namespaces/default/workflows/evil":          workflow + "}",
			"/namespaces/default/workflows/kept/signal/x": `{}`,
		} {
			for _, prefix := range []string{"", "/api/v1"} {
				status, said := post(t, base+prefix+path, body)
				require.NotEqual(t, http.StatusOK, status, "%s%s: %s", base, path, said)
				if strings.Contains(said, "Host not allowed") {
					refused++
				}
			}
		}
		status, _ := post(t, base+"/namespaces/default/task-queues/none/nexus-services/evil/op", "{}")
		require.Contains(t, []int{0, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}, status, "%s: Nexus", base)
	}
	require.Positive(t, refused, "the HTTP API was found")
	require.False(t, hasWorkflow(t, info, "evil"))
	require.False(t, hasWorkflow(t, info, "temporal-sys-scheduler:evil"))
	c, err := client.Dial(client.Options{HostPort: info.TemporalAddress})
	require.NoError(t, err)
	defer c.Close()
	kept, err := c.DescribeWorkflowExecution(t.Context(), "kept", "")
	require.NoError(t, err)
	require.EqualValues(t, 2, kept.WorkflowExecutionInfo.HistoryLength, "started, and its first workflow task")
}

// post sends a request as a web page does without a preflight. Status 0 means no HTTP answer.
func post(t *testing.T, url, body string) (status int, said string) {
	t.Helper()
	response, err := http.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(content)
}

// listening returns the base URLs of all ports on which a process listens.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("SKIPPED: this system does not say who listens on a port")
	}
	sockets := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, link := range links {
		to, _ := os.Readlink(link)
		sockets[to] = true
	}
	var found []string
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != "0A" || !sockets["socket:["+fields[9]+"]"] {
			continue
		}
		n, err := strconv.ParseUint(strings.Replace(fields[1], ":", "", 1), 16, 64)
		require.NoError(t, err)
		ip := n >> 16
		found = append(found, fmt.Sprintf("http://%d.%d.%d.%d:%d", ip&255, ip>>8&255, ip>>16&255, ip>>24, n&0xffff))
	}
	return found
}

// The Web UI answers under loopback names and after a click on a link. Other pages get neither its pages nor its CSRF
// cookie.
func TestTemporal_WebUIChecksRequests(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	cfg.DatabaseURL, cfg.WebHosts = "postgres://unused", []string{"ui.example"}
	info := start(t, cfg).Info()
	require.Eventually(t, func() bool { // the UI connects to Temporal after its start
		response, err := http.Get(info.TemporalUIURL + "/api/v1/namespaces/default")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	port := info.TemporalUIURL[strings.LastIndex(info.TemporalUIURL, ":"):]
	for _, c := range []struct {
		host   string
		header []string
		status int
	}{
		{"", nil, http.StatusOK},
		{"localhost" + port, nil, http.StatusOK},
		{"ui.example", nil, http.StatusOK},
		{"", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{"", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		{"", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, http.StatusForbidden},
		{"", []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		{"", []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{"evil.example" + port, nil, http.StatusForbidden},
		{"evil.example" + port, []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusForbidden},
	} {
		for _, path := range []string{"/", "/api/v1/settings", "/api/v1/namespaces/default"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, info.TemporalUIURL+path, http.NoBody)
			require.NoError(t, err)
			if c.host != "" {
				request.Host = c.host
			}
			for i := 0; i+1 < len(c.header); i += 2 {
				request.Header.Set(c.header[i], c.header[i+1])
			}
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, c.status, response.StatusCode, "%+v %s", c, path)
			if c.status == http.StatusForbidden {
				require.Empty(t, response.Cookies())
			}
		}
	}
}
