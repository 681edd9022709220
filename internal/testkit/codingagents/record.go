package codingagents

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Variables of the tests.
const (
	// Asked has the names of the agents whose real programs are tested: they may need the network.
	Asked = "OMOI_AGENTS_TEST"
	// recordVar names the file of the record, which is then written instead of compared.
	recordVar = "OMOI_AGENTS_RECORD"
	// outVar names a file that gets a line for each result.
	outVar = "OMOI_AGENTS_OUT"
)

// Seen is what a test saw of an agent.
type Seen struct {
	Saw     string  `json:"saw"`
	Seconds float64 `json:"seconds"` // never compared
}

// Record has what tests saw by agent and by the name of the test.
type Record map[string]map[string]Seen

//go:embed record.json
var recorded []byte

// Recorded returns the record.
func Recorded() (r Record) {
	if err := json.Unmarshal(recorded, &r); err != nil {
		panic(err)
	}
	return r
}

// Records reports whether results are written to the record.
func Records() bool { return os.Getenv(recordVar) != "" }

// Note compares a result with the record, or writes it there. An agent that the record lacks is not compared.
func Note(tb testing.TB, agent, test, saw string, took time.Duration) {
	tb.Helper()
	line := fmt.Sprintf("%-9s %-22s %6.1f s  %s\n", agent, test, took.Seconds(), saw)
	tb.Log(strings.TrimSpace(line))
	if path := os.Getenv(outVar); path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the developer's own file
		require.NoError(tb, err)
		_, err = file.WriteString(line)
		require.NoError(tb, err)
		require.NoError(tb, file.Close())
	}
	if Records() {
		require.NoError(tb, Write(os.Getenv(recordVar), agent, test, Seen{saw, math.Round(took.Seconds()*10) / 10}))
		return
	}
	require.NoError(tb, Recorded().Compare(agent, test, saw))
}

// Compare returns an error if the record of an agent has another result. An agent without a record has none.
func (r Record) Compare(agent, test, saw string) error {
	if row, known := r[agent]; known && row[test].Saw != saw {
		return fmt.Errorf("%s, %s: the result is %q, the record has %q. Next: if it is right, make agents-table AGENTS=%s", agent, test, saw, row[test].Saw, agent)
	}
	return nil
}

// Write writes a result to the file of a record, to which other processes may write at the same time.
func Write(path, agent, test string, seen Seen) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the developer's own file
	if err != nil {
		return fmt.Errorf("open the record: %w", err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the record: %w", err)
	}
	r := Record{}
	if err := json.NewDecoder(file).Decode(&r); err != nil {
		return fmt.Errorf("read the record: %w", err)
	}
	if r[agent] == nil {
		r[agent] = map[string]Seen{}
	}
	r[agent][test] = seen
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append(text, '\n'), 0)
	return err
}
