package claude

import "github.com/omoi-dev/omoi/internal/cost"

// tokens is what a message cost.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (t tokens) plus(o tokens) tokens {
	return tokens{t.Input + o.Input, t.Output + o.Output, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite}
}

// over takes what a later event of the same message says; it says the whole, not what came on top.
func (t tokens) over(o tokens) tokens {
	return tokens{max(t.Input, o.Input), max(t.Output, o.Output), max(t.CacheRead, o.CacheRead), max(t.CacheWrite, o.CacheWrite)}
}

func (t tokens) data() map[string]any {
	return map[string]any{
		"input_tokens": t.Input, "output_tokens": t.Output, "cache_read_tokens": t.CacheRead, "cache_write_tokens": t.CacheWrite,
	}
}

// weight is what tokens cost in units of one token of input: the same for every model.
func (t tokens) weight() float64 {
	const output, read, write = 5, 0.1, 1.25
	return float64(t.Input) + output*float64(t.Output) + read*float64(t.CacheRead) + write*float64(t.CacheWrite)
}

// modelUse is what the program says of one model.
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

// spent is what an attempt has cost. What a result has accounted for is settled; what messages
// have said since then is open.
type spent struct {
	Settled tokens            `json:"settled"`
	Cost    float64           `json:"cost_usd"`
	Open    map[string]tokens `json:"open"` // by model
	Model   string            `json:"model"`
	// Estimated: a part of Cost is, since the process that had spent it ended without a result.
	Estimated bool `json:"estimated"`
	// Unknown: a model without a known price was used, and Cost holds nothing for it.
	Unknown bool `json:"unknown,omitempty"`

	prices prices
}

// use takes in what a message says that it has used.
func (s *spent) use(model string, t tokens) {
	if s.Open == nil {
		s.Open = map[string]tokens{}
	}
	name := plainName(model)
	s.Open[name], s.Model = s.Open[name].plus(t), model
}

// account is the bill of one process of the program, whose sums go on from result to result.
type account struct {
	tokens tokens
	cost   float64
}

// settle adds a result: the program's own bill overrides every estimate. A program that resumes a session may continue
// the session's sums, or start from zero; newer versions report the increase since the last result, which may be zero.
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
	if open := s.open(); fresh.weight() < open.weight() { // what it did without a stream is not in its sums
		fresh = open
	}
	s.Settled, s.Cost, s.Open = s.Settled.plus(fresh), s.Cost+max(bill, 0), nil
}

// lose settles what no result will account for any more: its process has ended.
func (s *spent) lose() {
	_, unknown := s.estimate()
	s.Unknown = s.Unknown || unknown
	s.Cost, s.Estimated = s.total()
	s.Settled, s.Open = s.all(), nil
}

func (t tokens) minus(o tokens) tokens {
	return tokens{max(t.Input-o.Input, 0), max(t.Output-o.Output, 0), max(t.CacheRead-o.CacheRead, 0), max(t.CacheWrite-o.CacheWrite, 0)}
}

// open is all that no result has accounted for.
func (s *spent) open() (t tokens) {
	for _, one := range s.Open {
		t = t.plus(one)
	}
	return t
}

func (s *spent) all() tokens { return s.Settled.plus(s.open()) }

// total is the cost so far, with an estimate of what no result has accounted for; estimated says so.
func (s *spent) total() (usd float64, estimated bool) {
	open := s.open()
	usd, _ = s.estimate()
	return s.Cost + usd, s.Estimated || open != tokens{}
}

// margin is by how much an estimate must be above the limit of cost to end a turn: the program holds itself to that limit,
// by its own bill, which may be a third below the list.
const margin = 1.5

// beyond reports whether no more may be spent.
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

// known is what is known of the cost, nil if nothing is; unknown: a model without a known price was used.
func (s *spent) known() (usd *float64, unknown bool) {
	sum, _ := s.total()
	_, unknown = s.estimate()
	unknown = unknown || s.Unknown
	return cost.Known(sum, unknown), unknown
}
