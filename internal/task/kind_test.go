package task_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	conflict := task.Errorf(task.CodeConflict, "x")
	require.Equal(t, task.Kind("conflict"), task.KindOf(conflict))
	require.Equal(t, task.KindNameTaken, task.KindOf(fmt.Errorf("create: %w", conflict.WithKind(task.KindNameTaken))))
	require.Equal(t, task.Kind("internal"), task.KindOf(os.ErrClosed))
}

func TestDocumentationIsCurrent(t *testing.T) {
	t.Parallel()
	page, path := errorsPage(), filepath.Join("..", "..", "docs", "ERRORS.md")
	if os.Getenv("OMOI_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, page, string(content), "run make generate")
}

const errorsIntro = `# Errors

Generated from internal/task by ` + "`make generate`" + `; do not edit.

For integrators: the errors of the API. Each error answer is a problem document (RFC 9457, ` + "`application/problem+json`" + `):

| field | meaning |
|---|---|
| ` + "`code`" + ` | what failed; programs decide by this field. More codes may be added; an unknown one means what its HTTP status means |
| ` + "`status`, `title`" + ` | HTTP status and its name |
| ` + "`detail`" + ` | a message for people; its text may change |
| ` + "`type`" + ` | link to the entry of the code on this page |
| ` + "`instance`" + ` | ID of the request, as in the server's log |
| ` + "`errors`" + ` | each field or parameter at fault: ` + "`location`, `message`, `value`" + ` |

With ` + "`--json`" + ` the command line prints the same ` + "`code`" + `.

| code | status | sent when |
|---|---|---|
`

func errorsPage() string {
	var index, sections strings.Builder
	for _, k := range task.Kinds() {
		fmt.Fprintf(&index, "| [`%s`](#%[1]s) | %d | %s |\n", k.Kind, k.Status, k.Cause)
		fmt.Fprintf(&sections, "\n### %s\n\nStatus %d. %s\n\nNext: %s\n", k.Kind, k.Status, k.Cause, k.Next)
	}
	return errorsIntro + index.String() + "\n## Codes\n" + sections.String()
}
