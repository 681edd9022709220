package spool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/spool"
)

// FuzzDamage damages the files of a spool as the crash of a machine might. After recovery, each event has its own
// number, and if an event is missing whose number the API may have seen, the numbers restart under another ID.
func FuzzDamage(f *testing.F) {
	f.Add(uint8(9), uint8(3), uint8(0), uint16(0), []byte(nil), false)
	f.Add(uint8(9), uint8(3), uint8(0), uint16(200), []byte("x"), false)
	f.Add(uint8(9), uint8(3), uint8(0), uint16(0xffff), []byte("0badc0de 10 {}"), false)
	f.Add(uint8(40), uint8(20), uint8(1), uint16(7), []byte("{\"n\":1}\n"), true)
	f.Add(uint8(9), uint8(9), uint8(2), uint16(0), []byte("omoi-spool 1 "), true)
	f.Add(uint8(0), uint8(0), uint8(2), uint16(3), []byte{}, true)
	f.Fuzz(func(t *testing.T, events, acked, which uint8, at uint16, with []byte, cut bool) {
		dir := t.TempDir()
		n := int(events % 64)
		id := written(t, dir, n, int(acked))
		damage(t, pick(t, dir, int(which)), int(at), with, cut)
		s, err := spool.Open(dir, spool.Config{})
		require.NoError(t, err, "no damage keeps an agent from starting")
		defer func() { require.NoError(t, s.Close()) }()
		now, base := s.ID()
		next := whole(t, s, n)
		if now == id {
			require.Zero(t, base)
			require.GreaterOrEqual(t, next, int64(min(int(acked), n))+1, "a number that was acknowledged is given out again")
		}
		got, err := s.Append(json.RawMessage(`{"n":"new"}`), true)
		require.NoError(t, err)
		require.Equal(t, next, got)
	})
}

// written returns the folder of a spool with events 1..n, the first acked of them acknowledged.
func written(t *testing.T, dir string, n, acked int) string {
	t.Helper()
	s, err := spool.Open(dir, spool.Config{})
	require.NoError(t, err)
	for i := 1; i <= n; i++ {
		_, err := s.Append(body(i), false)
		require.NoError(t, err)
	}
	require.NoError(t, s.Ack(int64(min(acked, n))))
	id, _ := s.ID()
	require.NoError(t, s.Close())
	return id
}

// pick returns one of the spool's files.
func pick(t *testing.T, dir string, which int) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return files[which%len(files)]
}

// damage overwrites a part of a file, and may cut off the rest.
func damage(t *testing.T, path string, at int, with []byte, cut bool) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	at %= len(content) + 1
	rest := content[min(at+len(with), len(content)):]
	if cut {
		rest = nil
	}
	damaged := append(append(append([]byte{}, content[:at]...), with...), rest...)
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
}

// whole reads all events and returns the next number.
func whole(t *testing.T, s *spool.Spool, n int) int64 {
	t.Helper()
	_, base := s.ID()
	next := s.Acked() + 1
	records, err := s.Read(next, 1000, 1<<20)
	require.NoError(t, err)
	for _, r := range records {
		require.Equal(t, next, r.N)
		require.LessOrEqual(t, r.N, int64(n))
		require.JSONEq(t, string(body(int(r.N))), string(r.Body), "number %d after base %d", r.N, base)
		next++
	}
	return next
}
