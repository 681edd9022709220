package corpus

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// Development returns the trajectories that were known while the rules were written.
func Development() ([]Trajectory, error) { return embedded("testdata/corpus") }

// Validation returns the trajectories that were recorded or made after the rules. Each has a line in [Firsts].
func Validation() ([]Trajectory, error) { return embedded("testdata/validation") }

func embedded(name string) ([]Trajectory, error) {
	dir, err := fs.Sub(supervise.Recorded, name)
	if err != nil {
		return nil, fmt.Errorf("find the corpus: %w", err)
	}
	return Load(dir)
}

// First is what the rules said of a trajectory when it was new.
type First struct {
	Name string          `json:"name"`
	Said supervise.Label `json:"said"`
	// Sum is a SHA-256 of the sum before, the file of the trajectory, and Said: none of them can change alone.
	Sum string `json:"sum"`
}

// Firsts reads the first scores, oldest first.
func Firsts() ([]First, error) {
	raw, err := supervise.Recorded.ReadFile("testdata/first-scores.jsonl")
	if err != nil {
		return nil, fmt.Errorf("read first scores: %w", err)
	}
	var list []First
	for n, line := range lines(raw) {
		if len(raw) == 0 {
			break
		}
		var f First
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, fmt.Errorf("read first scores: line %d: %w", n+1, err)
		}
		list = append(list, f)
	}
	return list, nil
}

// Sign returns a first score with its sum. The sum before is that of the line before.
func Sign(before string, t *Trajectory, said supervise.Label) First {
	sum := sha256.Sum256(bytes.Join([][]byte{[]byte(before), t.Raw, []byte(said)}, []byte("\n")))
	return First{Name: t.Name, Said: said, Sum: hex.EncodeToString(sum[:])}
}

// FirstScore scores what the rules said first.
func FirstScore(list []Trajectory, firsts []First) Score {
	said := map[string]supervise.Label{}
	for _, f := range firsts {
		said[f.Name] = f.Said
	}
	return newScore(ByRules, list, func(t *Trajectory) Judged {
		return Judged{Name: t.Name, Label: t.Label, Said: said[t.Name], Reason: t.Reason}
	})
}
