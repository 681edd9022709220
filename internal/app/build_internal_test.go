package app

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuild_Describe(t *testing.T) {
	t.Parallel()
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "7503e1357457f7a3de0f"}, {Key: "vcs.time", Value: "2026-11-26T18:31:02Z"}}
	tests := []struct {
		name, word, line string
		info             *debug.BuildInfo
	}{
		{"no information", "devel", `^omoi devel, go`, nil},
		{"outside of version control", "devel", `^omoi devel, go`, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}},
		{"tag", "v1.2.0", `^omoi v1\.2\.0 \(commit 7503e1357457 of 2026-11-26\), go`, &debug.BuildInfo{Main: debug.Module{Version: "v1.2.0"}, Settings: commit}},
		{
			"uncommitted changes", "v1.2.0+dirty", `^omoi v1\.2\.0\+dirty \(commit 7503e1357457 of 2026-11-26, modified\), go`,
			&debug.BuildInfo{Main: debug.Module{Version: "v1.2.0+dirty"}, Settings: append(commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"})},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := buildOf(test.info)
			require.Equal(t, test.word, b.String())
			require.Regexp(t, test.line, b.Describe())
		})
	}
}
