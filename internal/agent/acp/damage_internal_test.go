package acp

import (
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
)

// events keeps events as texts, without numbers that damaged frames may raise.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) Emit(eventType string, data map[string]any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(data, "turn")
	delete(data, "final_output_length")
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	e.all = append(e.all, eventType+" "+string(text))
}

// taken feeds lines to a connection as an agent's output, and returns the events. Each prompt of a session is one turn.
func taken(t *testing.T, d Dialect, lines []string) []string {
	t.Helper()
	report := &events{}
	env := agent.Env{Report: report, Doing: &reporter.Activity{}, Log: slog.New(slog.DiscardHandler)}
	env.Config.Dir = t.TempDir()
	r := newRecorder(t.Context(), env, d, &place{}, continuous.Limits{})
	defer r.log.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	in := stdio.NewWriter(null)
	defer in.Drop()
	c := &conn{Process: &stdio.Process{In: in}, to: handlerOf{r}, calls: map[string]chan reply{}}
	c.read(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	r.settle(nil, true)
	return report.all
}

// handlerOf takes messages without a program that could get answers.
type handlerOf struct{ *recorder }

func (h handlerOf) asked(f *jsonrpc.Frame, _ bool) (any, *jsonrpc.Error) {
	if f.Method == "session/request_permission" {
		return h.permit(f), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethod}
}

// TestDamage_LosesNoEvent inserts 1,000 damaged copies of recorded frames before intact ones: each event of the intact
// ones is still reported, in order.
func TestDamage_LosesNoEvent(t *testing.T) {
	t.Parallel()
	const most = 1000
	random, inserted := rand.New(rand.NewPCG(1, 2)), 0
	for inserted < most {
		for _, name := range acptest.Agents() {
			d := dialects[strings.Replace(name, "claude", Claude, 1)]
			sessions := acptest.Sessions(name)
			for _, session := range slices.Sorted(keys(sessions)) {
				intact, all := []string{}, []string{}
				for _, f := range sessions[session] {
					if f.In == nil {
						continue
					}
					if random.IntN(3) == 0 {
						all, inserted = append(all, acptest.Damaged(random, string(f.In))), inserted+1
					}
					all, intact = append(all, string(f.In)), append(intact, string(f.In))
				}
				acptest.RequireWithin(t, taken(t, d, intact), taken(t, d, all), name+" "+session)
			}
		}
	}
	t.Logf("%d damaged frames", inserted)
}

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
