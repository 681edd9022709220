package jsonrpc_test

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// TestRead_TheLongestLine checks that a line of 64 MiB is a message, and that of a longer one the beginning and the length are kept.
func TestRead_TheLongestLine(t *testing.T) {
	t.Parallel()
	const begin, end = `{"method":"m","params":"`, "\"}\n"
	line := func(size int) string { return begin + strings.Repeat("x", size-len(begin)-len(end)) + end }
	in := bufio.NewReader(io.MultiReader(strings.NewReader(line(jsonrpc.MaxLine)), strings.NewReader(line(jsonrpc.MaxLine+1)), strings.NewReader(`{"method":"n"}`+"\n")))
	f, broken, err := jsonrpc.Read(in)
	require.NoError(t, err)
	require.Equal(t, []any{"m", false, 64<<20 - len(begin) - len(end) + 2}, []any{f.Method, broken, len(f.Params)})
	f, broken, err = jsonrpc.Read(in)
	require.NoError(t, err)
	require.Equal(t, []any{"", true, 64<<20 + 1}, []any{f.Method, broken, f.Bytes})
	require.True(t, strings.HasPrefix(string(f.Raw), begin))
	require.Less(t, len(f.Raw), 1<<20)
	f, broken, err = jsonrpc.Read(in)
	require.NoError(t, err)
	require.Equal(t, []any{"n", false}, []any{f.Method, broken}, "the next line is read")
}
