package claude

import (
	"slices"
	"strings"
	"sync"

	"github.com/omoi-dev/omoi/internal/cost"
)

// listDate is the date of the last comparison of [listPrice] with the bills of the supported versions of the program.
const listDate = "2026-11-01"

// listPrice returns the price with which the supported versions of the program compute their bill, and the higher one
// if they differ. Like the program, it searches for the model's name in the provider's name, for example
// us.anthropic.claude-opus-4-1-20250805-v1:0; the first match counts. A model without a match has no known price,
// whatever the program bills.
func listPrice(model string) (cost.ModelPrice, bool) { return priced(model, builtIn()) }

//nolint:gochecknoglobals // a constant table
var builtIn = sync.OnceValue(func() []cost.ModelPrice {
	list, _ := cost.ParseModelPrices("claude-opus-4-5=5/25, claude-opus-4-6=5/25, claude-opus-4-7=5/25, claude-opus-4-8=5/25," +
		"claude-opus-5=5/25, claude-opus-4=15/75, claude-fable-5=10/50, claude-sonnet-5=3/15/0.3/3.75, claude-sonnet-4=3/15/0.3/3.75," +
		"claude-3-7-sonnet=3/15/0.3/3.75, claude-3-5-sonnet=3/15/0.3/3.75, claude-haiku-4-5=1/5, claude-3-5-haiku=0.8/4/0.08/1")
	return list
})

func priced(model string, list []cost.ModelPrice) (cost.ModelPrice, bool) {
	at := slices.IndexFunc(list, func(p cost.ModelPrice) bool { return strings.Contains(model, p.Model) })
	if at < 0 {
		return cost.ModelPrice{}, false
	}
	return list[at], true
}

// prices are the configured prices: the project's first, then the server's. The zero value means the built-in list
// only.
type prices struct {
	set  []cost.ModelPrice
	date string // date of the configured prices; empty: unknown
}

// pricesOf reads the configured prices, which the server has checked.
func pricesOf(vars variables) prices {
	set, err := cost.ParseModelPrices(vars["OMOI_MODEL_PRICES"])
	if err != nil {
		return prices{}
	}
	return prices{set, vars["OMOI_MODEL_PRICES_DATE"]}
}

// of returns the price of a model. A configured price has priority over the program's own bill.
func (l prices) of(model string) (p cost.ModelPrice, configured, known bool) {
	if p, configured = priced(model, l.set); configured {
		return p, true, true
	}
	p, known = listPrice(model)
	return p, false, known
}

// asOf returns the date of the prices.
func (l prices) asOf() string {
	if len(l.set) > 0 && l.date != "" {
		return l.date
	}
	return listDate
}

// listed returns the cost of tokens in USD.
func (t tokens) listed(p cost.ModelPrice) float64 {
	const million = 1e6
	return (p.Input*float64(t.Input) + p.Output*float64(t.Output) + p.CacheRead*float64(t.CacheRead) + p.CacheWrite*float64(t.CacheWrite)) / million
}

// plainName returns a model's name without the program's suffix, for example [1m].
func plainName(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

// corrected returns a bill of the program with the known prices. A configured price replaces the program's. A model
// without a known price is not billed, because the program invents a price for it.
func (s *spent) corrected(bill float64, models map[string]modelUse) float64 {
	for name, use := range models {
		p, configured, known := s.prices.of(plainName(name))
		switch all := use.tokens(); {
		case configured:
			bill += all.listed(p) - use.Cost
		case !known:
			bill -= use.Cost
			s.Unknown = s.Unknown || all != tokens{}
		}
	}
	return max(bill, 0)
}

// wholeBill returns a bill that names no models. The bill is used unchanged if all open models have list prices, else
// the known prices count.
func (s *spent) wholeBill(bill float64) float64 {
	exact, sum := true, 0.0
	for model, open := range s.Open {
		p, configured, known := s.prices.of(model)
		s.Unknown = s.Unknown || !known
		exact = exact && known && !configured
		if known {
			sum += open.listed(p)
		}
	}
	if exact {
		return bill
	}
	return sum
}

// estimate returns the cost of the open tokens; unknown: a model has no known price.
func (s *spent) estimate() (usd float64, unknown bool) {
	for model, open := range s.Open {
		p, _, known := s.prices.of(model)
		usd += open.listed(p)
		unknown = unknown || !known && open != tokens{}
	}
	return usd, unknown
}
