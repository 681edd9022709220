package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func reported(t *testing.T, lines ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(strings.NewReader(strings.Join(lines, "\n")), &out, nil)
	return out.String(), err
}

const (
	passes = `{"Action":"pass","Package":"p","Test":"TestA"}`
	says   = `{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:1: no PostgreSQL here\n"}`
	closes = `{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}`
)

func TestSkipsAreSaidWithTheirReason(t *testing.T) {
	t.Parallel()
	out, err := reported(t, passes, says, `{"Action":"skip","Package":"p","Test":"TestB"}`, closes)
	require.NoError(t, err)
	require.Contains(t, out, "ok  \tp\t0.1s")
	require.Contains(t, out, "SKIPPED p TestB: b_test.go:1: no PostgreSQL here")
	require.Contains(t, out, "1 tests passed, 0 failed, 1 skipped")
}

func TestFailuresFail(t *testing.T) {
	t.Parallel()
	out, err := reported(t, passes, says, `{"Action":"fail","Package":"p","Test":"TestB"}`)
	require.Error(t, err)
	require.Contains(t, out, "no PostgreSQL here")
	_, err = reported(t, passes, `{"Action":"build-fail","ImportPath":"q"}`)
	require.Error(t, err)
	_, err = reported(t)
	require.Error(t, err, "nothing ran")
}

func TestWhatATestSaidThatDidNotEndIsPrinted(t *testing.T) {
	t.Parallel()
	out, err := reported(t, passes, says, `{"Action":"fail","Package":"p"}`)
	require.Error(t, err)
	require.Contains(t, out, "no PostgreSQL here")
}

func TestWhatWasWrongStandsAtTheEnd(t *testing.T) {
	t.Parallel()
	wrong := `{"Action":"output","Package":"p","Test":"TestB","Output":"  Error Trace: b_test.go:2\n"}`
	out, err := reported(t, says, wrong, says, `{"Action":"fail","Package":"p","Test":"TestB"}`, passes)
	require.Error(t, err)
	require.Contains(t, out, "FAILED p TestB\n  Error Trace: b_test.go:2\n    b_test.go:1: no PostgreSQL here\n1 tests passed, 1 failed")
}
