package api

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestADescriptionIsReadOnce, again when it was changed, and what is kept has a bound.
func TestADescriptionIsReadOnce(t *testing.T) {
	t.Parallel()
	var w works
	var asked []string
	text := map[string]string{"a": "All invoices of a month.", "b": "Of integrations."}
	read := func(ids []string) (map[string]string, error) {
		asked = append(asked, ids...)
		return text, nil
	}
	open := []task.OpenWork{{TaskID: "a", Title: "Export invoices"}, {TaskID: "b", Title: "Rotate keys"}}
	for range 2 {
		found, err := w.of(open, read)
		require.NoError(t, err)
		require.Equal(t, []supervise.Work{supervise.WorkOf("Export invoices", text["a"]), supervise.WorkOf("Rotate keys", text["b"])}, found)
	}
	require.Equal(t, []string{"a", "b"}, asked)
	open[0].Version, text["a"] = 7, "All invoices of a year."
	open[1].Title = "Rotate all keys"
	found, err := w.of(open, read)
	require.NoError(t, err)
	require.Equal(t, supervise.WorkOf("Export invoices", text["a"]), found[0])
	require.Equal(t, []string{"a", "b", "a", "b"}, asked)

	var many []task.OpenWork
	for n := range mostWorks - 1 {
		many = append(many, task.OpenWork{TaskID: strconv.Itoa(n), Title: "One of many"})
	}
	_, err = w.of(many, read)
	require.NoError(t, err)
	require.Len(t, w.known, mostWorks)
	_, err = w.of(many, func([]string) (map[string]string, error) { panic("all of them are known") })
	require.NoError(t, err)
}
