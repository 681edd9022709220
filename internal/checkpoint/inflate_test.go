package checkpoint_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/checkpoint"
)

func TestCheckPack_ReadsWhatGitWrites(t *testing.T) {
	t.Parallel()
	for format, idBytes := range map[string]int{"sha1": 20, "sha256": 32} {
		dir := t.TempDir()
		git := func(in string, args ...string) string {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
			out, err := cmd.Output()
			require.NoError(t, err, args)
			return string(out)
		}
		git("", "init", "-q", "--object-format="+format, ".")
		var ids strings.Builder
		for n := range 30 { // deltas
			ids.WriteString(git(strings.Repeat("the same line\n", 200)+strings.Repeat("x\n", n), "hash-object", "-w", "--stdin"))
		}
		for _, offsets := range []string{"--delta-base-offset", "--no-reuse-delta"} {
			pack := git(ids.String(), "pack-objects", "--stdout", "-q", offsets)
			require.NoError(t, checkpoint.CheckPack(strings.NewReader(pack), idBytes))
			for _, end := range []int{3, 11, 12, 13, len(pack) / 2, len(pack) - idBytes - 1} {
				require.ErrorContains(t, checkpoint.CheckPack(strings.NewReader(pack[:end]), idBytes), "is damaged", end)
			}
		}
	}
}

// object returns an object of a pack, of which the size is said to be another one.
func object(kind byte, size uint64, between string, content []byte) []byte {
	var out bytes.Buffer
	first := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(first | 128)
		first = byte(size & 127)
	}
	out.WriteByte(first)
	out.WriteString(between)
	zip := zlib.NewWriter(&out)
	_, _ = zip.Write(content)
	_ = zip.Close()
	return out.Bytes()
}

func pack(objects ...[]byte) io.Reader {
	head := binary.BigEndian.AppendUint32(append([]byte("PACK"), 0, 0, 0, 2), uint32(len(objects)))
	return bytes.NewReader(append(head, append(bytes.Join(objects, nil), make([]byte, 20)...)...))
}

func TestCheckPack_RefusesWhatInflatesTooMuch(t *testing.T) {
	t.Parallel()
	const blob, offsetDelta, idDelta = 3, 6, 7
	large := object(blob, 500<<20, "", nil)
	long := binary.AppendUvarint(binary.AppendUvarint(nil, 5), 3<<30) // of an object of 5 bytes
	require.NoError(t, checkpoint.CheckPack(pack(object(blob, 5, "", []byte("12345")), object(idDelta, 2, strings.Repeat("i", 20), []byte{5, 5})), 20))
	for why, in := range map[string]io.Reader{
		"a blob of 3 GiB":       pack(object(blob, 3<<30, "", nil)),
		"a delta with a result": pack(object(idDelta, uint64(len(long)), strings.Repeat("i", 20), long)),
		"too many objects":      strings.NewReader("PACK\x00\x00\x00\x02\x00\x40\x00\x01"),
		"one with an offset":    pack(object(offsetDelta, uint64(len(long)), "\x05", long)),
	} {
		require.ErrorIs(t, checkpoint.CheckPack(in, 20), checkpoint.ErrInflates, why)
	}
	for why, in := range map[string]io.Reader{
		"more than it says":  pack(object(blob, 4, "", []byte("12345"))),
		"less than it says":  pack(large),
		"a size without end": pack(bytes.Repeat([]byte{255}, 20)),
	} {
		require.ErrorContains(t, checkpoint.CheckPack(in, 20), "is damaged", why)
	}
}

func TestCheckPack_CountsAllObjects(t *testing.T) {
	t.Parallel()
	var result []byte
	result = binary.AppendUvarint(binary.AppendUvarint(result, 5), 500<<20)
	delta := object(7, uint64(len(result)), strings.Repeat("i", 20), result)
	objects := make([][]byte, 17)
	for n := range objects {
		objects[n] = delta
	}
	require.NoError(t, checkpoint.CheckPack(pack(objects[:16]...), 20))
	require.ErrorIs(t, checkpoint.CheckPack(pack(objects...), 20), checkpoint.ErrInflates)
}

// CheckPack is not parallel, so that it is known what uses memory.
//
//nolint:paralleltest // as above
func TestCheckPack_CostsNoMemory(t *testing.T) {
	in := pack(object(3, 200<<20, "", make([]byte, 200<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, checkpoint.CheckPack(in, 20))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}
