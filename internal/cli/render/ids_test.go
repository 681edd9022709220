package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/render"
)

func TestShortIDs_KeepsPaths(t *testing.T) {
	t.Parallel()
	const id, other = "01a20400-0000-7000-8000-000012345678", "01a20400-0000-7000-8000-0000abcdabcd"
	ref := "git fetch origin refs/omoi/rescue/" + id + "/1"
	for _, c := range [][2]string{
		{id, "12345678"},
		{"omoi retry " + id + ", or " + other, "omoi retry 12345678, or abcdabcd"},
		{ref + "; omoi work " + id, ref + "; omoi work 12345678"},
		{"feature/" + id + "-hello", "feature/" + id + "-hello"},
		{id + id, "1234567812345678"},
		{"nothing", "nothing"},
	} {
		require.Equal(t, c[1], render.ShortIDs(c[0], id, "", other))
	}
}
