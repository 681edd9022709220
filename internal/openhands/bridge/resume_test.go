package bridge_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	"github.com/omoi-dev/omoi/internal/task"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// resumeSites are the requests of a resume.
var resumeSites = map[string]func(r *http.Request) bool{
	"info": func(r *http.Request) bool { return r.URL.Path == "/server_info" }, "check": sites["check"], "events": sites["events"], "status": sites["status"],
}

// resumeWrongs are what goes wrong with a resume, and the code of the error if it stays. Only a conversation that the server does not know
// makes room for a new one.
var resumeWrongs = map[string]struct {
	fault openhandstest.Fault
	code  int
}{
	"500": {openhandstest.Fault{Status: http.StatusInternalServerError}, jsonrpc.CodeInternal},
	"429": {openhandstest.Fault{Status: http.StatusTooManyRequests}, jsonrpc.CodeInternal},
	"401": {openhandstest.Fault{Status: http.StatusUnauthorized}, jsonrpc.CodeInternal},
	"404": {openhandstest.Fault{Status: http.StatusNotFound}, jsonrpc.CodeNotFound},
	"cut": {openhandstest.Fault{Cut: true}, jsonrpc.CodeInternal}, "lost answer": {openhandstest.Fault{Drop: true}, jsonrpc.CodeInternal},
	"frozen": {openhandstest.Fault{Hang: true}, jsonrpc.CodeInternal}, "another page": {openhandstest.Fault{Other: true}, jsonrpc.CodeInternal},
}

// A resume on a server with any of these faults fails within its time, and succeeds if the fault ends before.
func TestFake_ResumeFaults(t *testing.T) {
	t.Parallel()
	for site, at := range resumeSites {
		for wrong, c := range resumeWrongs {
			t.Run(site+" "+wrong, func(t *testing.T) {
				t.Parallel()
				f := openhandstest.NewFake(t, func(*openhandstest.Turn) {})
				to, err := openhands.New(f.URL, f.Key)
				require.NoError(t, err)
				made, err := to.Create(t.Context(), task.NewID(), t.TempDir(), openhands.Model{Name: "openai/gpt-4o"})
				require.NoError(t, err)
				resume := map[string]any{"sessionId": made.ID}

				var left atomic.Int32
				left.Store(1 << 30)
				f.Fault = func(r *http.Request) openhandstest.Fault {
					if at(r) && left.Add(-1) >= 0 {
						return c.fault
					}
					return openhandstest.Fault{}
				}
				again := dial(t, bridge.Config{Vars: f.Vars(), Room: time.Second})
				resumed := again.call("session/resume", resume)()
				require.NotNil(t, resumed.Error)
				if site == "events" || site == "status" || wrong != "404" {
					require.Equal(t, c.code, resumed.Error.Code, resumed.Error)
				} else {
					require.NotEqual(t, jsonrpc.CodeNotFound, resumed.Error.Code, "the server, not the conversation")
				}
				again.close()
				if c.fault.Status == http.StatusUnauthorized || c.fault.Status == http.StatusNotFound || c.fault.Hang {
					return // an answer, or no answer for ten seconds
				}
				left.Store(2)
				last := dial(t, bridge.Config{Vars: f.Vars()})
				require.Nil(t, last.call("session/resume", resume)().Error)
			})
		}
	}
}
