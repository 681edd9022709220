package daytona_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestList_AllPages lists four pages, one of which fails at first. Some sandboxes belong to another installation, and
// one is unreadable.
func TestList_AllPages(t *testing.T) {
	t.Parallel()
	failed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		if n == 2 && !failed {
			failed = true
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		var filter map[string]string
		if json.Unmarshal([]byte(r.URL.Query().Get("labels")), &filter) != nil || filter["omoi-installation"] != "mine" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		next := "null"
		if n < 3 {
			next = strconv.Quote(strconv.Itoa(n + 1))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"items":[%s,%s,%s],"nextCursor":%s}`, item(n, "mine", "1"), item(n+10, "another", "1"), item(n+20, "mine", "no number"), next)
	}))
	t.Cleanup(server.Close)
	p, err := daytona.New(daytona.Config{APIURL: server.URL, APIKey: "k", PollMin: 1}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = p.List(t.Context(), "mine")
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err), "half a list is none")
	listed, err := p.List(t.Context(), "mine")
	require.NoError(t, err)
	require.Len(t, listed, 4)
	for i, box := range listed {
		require.Equal(t, sandbox.Labels{Installation: "mine", TaskID: "t", Attempt: 1, SandboxID: "box" + strconv.Itoa(i)}, box.Labels)
		require.Equal(t, 2026, box.CreatedAt.Year())
	}
}

func item(n int, installation, attempt string) string {
	return fmt.Sprintf(`{"id":"d%[1]d","organizationId":"o","name":"omoi-box%[1]d","target":"us","user":"daytona","public":false,
		"cpu":1,"gpu":0,"memory":1,"disk":1,"toolboxProxyUrl":"","state":"a state of tomorrow","createdAt":"2026-11-22T02:00:00.000Z",
		"labels":{"omoi-installation":%[2]q,"omoi-task":"t","omoi-attempt":%[3]q,"omoi-sandbox":"box%[1]d","else":"x"}}`, n, installation, attempt)
}

func TestNew_InvalidConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]daytona.Config{
		"no URL":     {APIURL: "app.daytona.io"},
		"two images": {Image: "a b"},
		"memory":     {Limits: sandbox.Limits{MemoryBytes: 9 << 30}},
		"CPUs":       {Limits: sandbox.Limits{CPUs: 5}},
		"disk":       {Limits: sandbox.Limits{DiskBytes: 11_000_000_000}},
	} {
		_, err := daytona.New(cfg, slog.New(slog.DiscardHandler))
		require.Equal(t, task.CodeInvalid, task.CodeOf(err), name)
	}
}
