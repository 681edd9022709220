package claude

import "github.com/omoi-dev/omoi/internal/cost"

// tokens are the tokens of a message.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (t tokens) plus(o tokens) tokens {
	return tokens{t.Input + o.Input, t.Output + o.Output, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite}
}

// over combines the usage of two events of one message. Events have totals, so the larger value counts.
func (t tokens) over(o tokens) tokens {
	return tokens{max(t.Input, o.Input), max(t.Output, o.Output), max(t.CacheRead, o.CacheRead), max(t.CacheWrite, o.CacheWrite)}
}

func (t tokens) data() map[string]any {
	return map[string]any{
		"input_tokens": t.Input, "output_tokens": t.Output, "cache_read_tokens": t.CacheRead, "cache_write_tokens": t.CacheWrite,
	}
}

// weight returns the cost in units of an input token, by ratios that all models share.
func (t tokens) weight() float64 {
	const output, read, write = 5, 0.1, 1.25
	return float64(t.Input) + output*float64(t.Output) + read*float64(t.CacheRead) + write*float64(t.CacheWrite)
}

// modelUse is the program's bill of one model.
type modelUse struct {
	Input      int64   `json:"inputTokens"`              //nolint:tagliatelle // the program's name
	Output     int64   `json:"outputTokens"`             //nolint:tagliatelle // the program's name
	CacheRead  int64   `json:"cacheReadInputTokens"`     //nolint:tagliatelle // the program's name
	CacheWrite int64   `json:"cacheCreationInputTokens"` //nolint:tagliatelle // the program's name
	Cost       float64 `json:"costUSD"`                  //nolint:tagliatelle // the program's name
}

func (m modelUse) tokens() tokens { return tokens{m.Input, m.Output, m.CacheRead, m.CacheWrite} }

func sum(models map[string]modelUse) (t tokens, bill float64) {
	for _, m := range models {
		t, bill = t.plus(m.tokens()), bill+m.Cost
	}
	return t, bill
}

// spent is the cost of an attempt. Settled is what results have billed; Open is what messages have reported since then.
type spent struct {
	Settled tokens            `json:"settled"`
	Cost    float64           `json:"cost_usd"`
	Open    map[string]tokens `json:"open"` // by model
	Model   string            `json:"model"`
	// Estimated reports that a part of Cost is an estimate, because a process ended without a result.
	Estimated bool `json:"estimated"`
	// Unknown reports that a model without a known price was used, which Cost does not include.
	Unknown bool `json:"unknown,omitempty"`

	prices prices
}

// use adds the usage of a message.
func (s *spent) use(model string, t tokens) {
	if s.Open == nil {
		s.Open = map[string]tokens{}
	}
	name := plainName(model)
	s.Open[name], s.Model = s.Open[name].plus(t), model
}

// account has the sums of one process, which grow from result to result.
type account struct {
	tokens tokens
	cost   float64
}

// settle adds a result: the program's own bill replaces estimates. A program that resumes a session may continue the
// session's sums or start from zero. Newer versions report the increase since the last result, which may be zero.
func (s *spent) settle(a *account, o outcome) {
	total, _ := sum(o.Models)
	fresh, bill := sum(o.Since)
	if o.Since == nil {
		var whole float64
		if len(o.Models) == 0 {
			whole = a.cost + s.wholeBill(o.Cost-a.cost)
		} else {
			whole = s.corrected(o.Cost, o.Models)
		}
		fresh, bill = total.minus(a.tokens), whole-a.cost
		a.cost = whole
	} else {
		bill, a.cost = s.corrected(bill, o.Since), o.Cost
	}
	a.tokens = total
	if open := s.open(); fresh.weight() < open.weight() { // the program's sums exclude work outside of a stream
		fresh = open
	}
	s.Settled, s.Cost, s.Open = s.Settled.plus(fresh), s.Cost+max(bill, 0), nil
}

// lose settles open tokens at the end of a process without a result, with an estimate.
func (s *spent) lose() {
	_, unknown := s.estimate()
	s.Unknown = s.Unknown || unknown
	s.Cost, s.Estimated = s.total()
	s.Settled, s.Open = s.all(), nil
}

func (t tokens) minus(o tokens) tokens {
	return tokens{max(t.Input-o.Input, 0), max(t.Output-o.Output, 0), max(t.CacheRead-o.CacheRead, 0), max(t.CacheWrite-o.CacheWrite, 0)}
}

// open returns all open tokens.
func (s *spent) open() (t tokens) {
	for _, one := range s.Open {
		t = t.plus(one)
	}
	return t
}

func (s *spent) all() tokens { return s.Settled.plus(s.open()) }

// total returns the cost so far, with an estimate of the open tokens; estimated reports whether there is an estimate.
func (s *spent) total() (usd float64, estimated bool) {
	open := s.open()
	usd, _ = s.estimate()
	return s.Cost + usd, s.Estimated || open != tokens{}
}

// margin is the factor by which an estimate must exceed the budget to end a turn. The program enforces the budget by
// its own bill, which may be a third below the list.
const margin = 1.5

// beyond reports whether the budget is used up.
func (s *spent) beyond(limit float64) bool {
	usd, _ := s.total()
	return s.Cost >= limit || usd >= margin*limit
}

func (s *spent) data() map[string]any {
	data := s.all().data()
	_, estimated := s.total()
	usd, unknown := s.known()
	data["cost_usd"], data["prices_as_of"] = usd, s.prices.asOf()
	if unknown {
		data["cost_unknown"] = true
	}
	if estimated {
		data["cost_estimated"] = true
	}
	return data
}

// known returns the known cost, nil if there is none; unknown: a model without a known price was used.
func (s *spent) known() (usd *float64, unknown bool) {
	sum, _ := s.total()
	_, unknown = s.estimate()
	unknown = unknown || s.Unknown
	return cost.Known(sum, unknown), unknown
}
