package supervise_test

import (
	"fmt"
	"testing"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// fleet returns 1,000 attempts of about 240 events each.
func fleet() []*tape {
	tapes := make([]*tape, 1000)
	for n := range tapes {
		tapes[n] = newTape().times(40, func(tp *tape, i int) {
			tp.read(fmt.Sprintf("src/f%d.go", i)).edit(fmt.Sprintf("src/f%d_test.go", i), "-\told line", fmt.Sprintf("+\trequire.Equal(t, %d, n)", i))
			tp.spend(float64(i)/50).bash("go test ./...", "ok  \texample.org/p\t0.01s\nok  \texample.org/q\t0.02s")
		}).beat("running", "", 0)
	}
	return tapes
}

func BenchmarkRules(b *testing.B) {
	subjects := make([]supervise.Subject, 0, 1000)
	for _, tp := range fleet() {
		subjects = append(subjects, tp.subject())
	}
	settings := supervise.DefaultSettings()
	for b.Loop() {
		for i := range subjects {
			supervise.Rules(subjects[i], settings)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	tapes := fleet()
	for b.Loop() {
		for _, tp := range tapes {
			tp.subject()
		}
	}
}
