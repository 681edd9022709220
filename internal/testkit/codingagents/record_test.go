package codingagents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/codingagents"
)

// agents returns the agents whose programs the record must have.
func agents() (names []string) {
	for _, r := range task.Runtimes {
		if d, ok := acp.Of(r.Name); ok && r.ACP && d.Command == nil {
			names = append(names, r.Name)
		}
	}
	return names
}

func TestRecord_IsWhole(t *testing.T) {
	t.Parallel()
	record := codingagents.Recorded()
	for _, name := range agents() {
		d, _ := acp.Of(name)
		require.Equal(t, d.Least, record[name]["version"].Saw, "Next: make agents-table AGENTS=%s", name)
		for _, test := range slices.Concat(codingagents.Tests, acp.CheckNames()) {
			require.NotEmpty(t, record[name][test].Saw, "%s, %s. Next: make agents-table AGENTS=%s", name, test, name)
		}
		require.Len(t, record[name], len(codingagents.Tests)+len(acp.CheckNames()), "%s has results of unknown tests", name)
	}
}

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "CODING-AGENTS-CHECKS.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	checks := slices.DeleteFunc(acp.CheckNames(), func(name string) bool { return name == "version" })
	want, err := codingagents.Insert(string(page), codingagents.Recorded().Table(agents(), slices.Concat(codingagents.Tests, checks)))
	require.NoError(t, err)
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(page), "run make generate")
}

func TestTable_NamesWhoDiffers(t *testing.T) {
	t.Parallel()
	record := codingagents.Record{
		"a": {"429": {Saw: "provider_limit", Seconds: 1.2}}, "b": {"429": {Saw: "infrastructure", Seconds: 300}}, "c": {"429": {Saw: "provider_limit", Seconds: 57}},
	}
	table := record.Table([]string{"a", "b", "c"}, []string{"429"})
	require.Equal(t, "| check | result | seconds (a, b, c) |\n|---|---|---|\n| 429 | provider_limit; `b`: infrastructure | 1, 300, 57 |\n", table)
	_, err := codingagents.Insert("a page", table)
	require.Error(t, err)
}

func TestRecord_Compare(t *testing.T) {
	t.Parallel()
	record := codingagents.Record{"a": {"429": {Saw: "provider_limit"}}}
	require.NoError(t, record.Compare("a", "429", "provider_limit"))
	require.ErrorContains(t, record.Compare("a", "429", "infrastructure"), "make agents-table AGENTS=a")
	require.Error(t, record.Compare("a", "500", "infrastructure"), "a test that the record lacks")
	require.NoError(t, record.Compare("b", "429", "infrastructure"), "an agent without a record")
}

func TestWrite_KeepsTheOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"a": {"429": {"saw": "a long result that is replaced", "seconds": 1}, "500": {"saw": "x", "seconds": 2}}}`), 0o600))
	require.NoError(t, codingagents.Write(path, "a", "429", codingagents.Seen{Saw: "y", Seconds: 3}))
	require.NoError(t, codingagents.Write(path, "b", "429", codingagents.Seen{Saw: "z"}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var got codingagents.Record
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, codingagents.Record{"a": {"429": {Saw: "y", Seconds: 3}, "500": {Saw: "x", Seconds: 2}}, "b": {"429": {Saw: "z"}}}, got)
}
