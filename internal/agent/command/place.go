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

// place is the state of a run on disk, from which a restarted omoi-agent continues.
type place struct {
	continuous.State

	Turn  int   `json:"turn"`
	Files int   `json:"files"` // number of changed files
	Spent spent `json:"spent"` // by ended runs of the program

	path string
}

func openPlace(dir string) *place {
	p := &place{path: filepath.Join(dir, "command.json")}
	_ = statefile.Load(p.path, p) // without the file the run starts from the beginning
	return p
}

func (p *place) save() error { return statefile.Save(p.path, p) }

// spent is the cost that a program reports.
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

// sum keeps a sum of reported numbers within the range of JSON.
func sum(a, b float64) float64 {
	const most = 1e15 // above any real cost or number of tokens
	return min(a+b, most)
}

// over combines two reports of the same totals: the larger value counts.
func (s spent) over(o spent) spent {
	return spent{
		max(s.Cost, o.Cost), max(s.Input, o.Input), max(s.Output, o.Output), max(s.CacheRead, o.CacheRead), max(s.CacheWrite, o.CacheWrite),
	}
}

func (s spent) data() map[string]any {
	unknown := s.Cost == 0 && s.Input+s.Output > 0 // tokens without a cost
	data := map[string]any{"cost_usd": cost.Known(s.Cost, unknown)}
	if unknown {
		data["cost_unknown"] = true
	}
	maps.Copy(data, map[string]any{
		"input_tokens": s.Input, "output_tokens": s.Output, "cache_read_tokens": s.CacheRead, "cache_write_tokens": s.CacheWrite,
	})
	return data
}

// tokensOf returns the tokens in the data of an event.
func tokensOf(data map[string]any) spent {
	return spent{
		Input: number(data["input_tokens"]), Output: number(data["output_tokens"]),
		CacheRead: number(data["cache_read_tokens"]), CacheWrite: number(data["cache_write_tokens"]),
	}
}

// number returns a number of an event's data, 0 if it is invalid or negative.
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
