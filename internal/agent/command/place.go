package command

import (
	"encoding/json"
	"maps"
	"math"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/cost"
)

// place is the state of a run on disk, from which a restarted agent continues.
type place struct {
	continuous.State

	Turn  int   `json:"turn"`
	Files int   `json:"files"` // that were changed
	Spent spent `json:"spent"` // by runs of the program that have ended

	path string
}

func openPlace(dir string) *place {
	p := &place{path: filepath.Join(dir, "command.json")}
	_ = statefile.Load(p.path, p) // without it the run begins
	return p
}

func (p *place) save() error { return statefile.Save(p.path, p) }

// spent is what a program says that it has cost.
type spent struct {
	Cost       float64 `json:"cost_usd"`
	Input      float64 `json:"input_tokens"`
	Output     float64 `json:"output_tokens"`
	CacheRead  float64 `json:"cache_read_tokens"`
	CacheWrite float64 `json:"cache_write_tokens"`
}

func (s spent) plus(o spent) spent {
	return spent{
		sum(s.Cost, o.Cost), sum(s.Input, o.Input), sum(s.Output, o.Output), sum(s.CacheRead, o.CacheRead), sum(s.CacheWrite, o.CacheWrite),
	}
}

// sum keeps what a program tells of itself a number that JSON has.
func sum(a, b float64) float64 {
	const most = 1e15 // more than anything costs
	return min(a+b, most)
}

// over takes what is said later of the same sums.
func (s spent) over(o spent) spent {
	return spent{
		max(s.Cost, o.Cost), max(s.Input, o.Input), max(s.Output, o.Output), max(s.CacheRead, o.CacheRead), max(s.CacheWrite, o.CacheWrite),
	}
}

func (s spent) data() map[string]any {
	unknown := s.Cost == 0 && s.Input+s.Output > 0 // it used a model and says no price
	data := map[string]any{"cost_usd": cost.Known(s.Cost, unknown)}
	if unknown {
		data["cost_unknown"] = true
	}
	maps.Copy(data, map[string]any{
		"input_tokens": s.Input, "output_tokens": s.Output, "cache_read_tokens": s.CacheRead, "cache_write_tokens": s.CacheWrite,
	})
	return data
}

// tokensOf reads the tokens that the data of an event names.
func tokensOf(data map[string]any) spent {
	return spent{
		Input: number(data["input_tokens"]), Output: number(data["output_tokens"]),
		CacheRead: number(data["cache_read_tokens"]), CacheWrite: number(data["cache_write_tokens"]),
	}
}

// number is what a line says; what is no sum is none.
func number(value any) float64 {
	n, ok := value.(json.Number)
	if !ok {
		return 0
	}
	f, err := n.Float64()
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0
	}
	return f
}
