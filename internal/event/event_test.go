package event_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
)

func TestEventClasses(t *testing.T) {
	t.Parallel()
	require.Equal(t, event.ClassMilestone, event.ClassOf(event.AgentStarted))
	require.Equal(t, event.ClassHeartbeat, event.ClassOf("spec.heartbeat"))
	require.Equal(t, event.ClassOther, event.ClassOf("iteration.failed"))
	require.Equal(t, event.ClassWork, event.ClassOf("something.new"), "an unknown type is progress")
	require.True(t, event.Is(event.AgentToolUse, event.Work))
	require.False(t, event.Is(event.AgentWaiting, event.Work))
	require.False(t, event.Is(event.AgentHeartbeat, event.Work))
	require.True(t, event.Is("something.new", event.Work|event.ByProgram))
	require.False(t, event.Is("something.new", event.MustArrive))
}

func TestTypes_ThatTheWorkflowActsOn(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, []string{
		"agent.started", "agent.completed", "continuous.completed", "agent.error", "agent.failed", "agent.waiting", "agent.interrupted", "agent.shutdown",
	}, event.Types(event.Milestone))
	require.ElementsMatch(t, []string{"agent.heartbeat", "heartbeat", "spec.heartbeat"}, event.Types(event.Liveness))
	require.ElementsMatch(t, []string{"agent.completed", "continuous.completed"}, event.Types(event.Completion))
	require.ElementsMatch(t, []string{"agent.error", "agent.failed"}, event.Types(event.Failure))
	require.True(t, event.Ends("agent.completed", false))
	require.False(t, event.Ends("agent.completed", true), "it ends an iteration")
	require.True(t, event.Ends("agent.error", true))
}

// A field of another form hides no other field, as legacy workers send them.
func TestRead_IsLenient(t *testing.T) {
	t.Parallel()
	end := event.Read[event.End](json.RawMessage(
		`{"agent_type": 1, "success": "False", "validation_passed": 1, "error": {"a": 1}, "final_output": "done", "stop_reason": null, "reset_at": 1900000000}`,
	))
	require.False(t, bool(*end.Success))
	require.True(t, bool(end.ValidationPassed))
	require.Equal(t, event.Text(`{"a": 1}`), end.Error)
	require.Equal(t, event.Text("done"), end.Output)
	require.Equal(t, time.Unix(1900000000, 0).UTC(), end.ResetAt.Time)
	require.Nil(t, event.Read[event.End](json.RawMessage(`{"success": null}`)).Success)
	require.Zero(t, event.Read[event.End](json.RawMessage(`[]`)))
	require.Zero(t, event.Read[event.End](json.RawMessage(`{"error": null, "reset_at": "soon"}`)))

	said := event.Read[event.Delivery](json.RawMessage(`{"message_id": 7, "message_ids": []}`), json.RawMessage(`{"content": "long"}`))
	require.Equal(t, event.Delivery{Content: "long", Answered: []string{}}, said)
	require.Nil(t, event.Read[event.Delivery](json.RawMessage(`{"message_ids": "all"}`)).Answered)
}

// Product code names event types by this package alone, so that every list of them is one of the table.
func TestEventTypes_AreDefinedOnce(t *testing.T) {
	t.Parallel()
	root := os.DirFS(filepath.Join("..", ".."))
	for _, top := range []string{"activities", "api", "cmd", "config", "internal", "migrations", "worker", "workflows"} {
		require.NoError(t, fs.WalkDir(root, top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"internal/event", "internal/testkit", "internal/bench", "internal/tools"}, path):
				return fs.SkipDir
			case strings.HasSuffix(path, ".sql"):
				checkSQL(t, root, path)
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				checkGo(t, root, path)
			}
			return nil
		}))
	}
}

func checkGo(t *testing.T, root fs.FS, path string) {
	t.Helper()
	source, err := fs.ReadFile(root, path)
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			require.False(t, strings.Contains(text, ".") && named(text), "%s: %s; use the constant of package event", path, lit.Value)
		}
		return true
	})
}

func named(text string) bool {
	return slices.ContainsFunc(event.Table(), func(e event.Entry) bool { return e.Type == text })
}

var quoted = regexp.MustCompile(`'((?:agent|iteration|continuous|spec)\.[a-z_]+)'`)

// checkSQL allows none in queries and functions, which are given lists.
func checkSQL(t *testing.T, root fs.FS, path string) {
	t.Helper()
	source, err := fs.ReadFile(root, path)
	require.NoError(t, err)
	require.Empty(t, quoted.FindAllString(string(source), -1), "%s: hand it a list of package event", path)
}
