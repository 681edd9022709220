package acpserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindOf_ComparesWholeWords(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		"Bash": "execute", "run_shell_command": "execute", "execute": "execute", "MultiEdit": "edit", "apply_patch": "edit", "TodoWrite": "edit",
		"read_file": "read", "LS": "search", "WebSearch": "search", "websearch": "search", "WebFetch": "fetch", "webfetch": "fetch", "Task": "think",
		"mcp__github__list_pulls": "other", "list_categories": "other", "": "other",
	} {
		require.Equal(t, want, kindOf(tool), tool)
	}
}

func TestFenced_IsLongerThanTheBackticksOfTheText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "```diff\na\n```", fenced("diff", "a"))
	require.Equal(t, "`````\n```sh\nls\n````\n`````", fenced("", "```sh\nls\n````"))
}
