// Package cost parses model prices and formats costs. An unknown part is named, never counted as 0.
package cost

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// ModelPrice is the price of a million tokens of a model, in USD.
type ModelPrice struct {
	Model                                string // substring of the model's name
	Input, Output, CacheRead, CacheWrite float64
}

var modelPriceForm = regexp.MustCompile(`^([^=,\s]+)=([0-9.]+)/([0-9.]+)(?:/([0-9.]+)/([0-9.]+))?$`)

// ParseModelPrices parses prices in USD per million tokens, separated by commas: model=input/output or
// model=input/output/cache_read/cache_write. By default, a cache read costs a tenth and a cache write 1.25 times the
// input.
func ParseModelPrices(text string) ([]ModelPrice, error) {
	var prices []ModelPrice
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		found := modelPriceForm.FindStringSubmatch(part)
		if found == nil {
			return nil, invalidPrice(part)
		}
		p := ModelPrice{Model: found[1]}
		for n, into := range []*float64{&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite} {
			if found[n+2] == "" {
				continue
			}
			var err error
			if *into, err = strconv.ParseFloat(found[n+2], 64); err != nil {
				return nil, invalidPrice(part)
			}
		}
		if found[4] == "" {
			const read, write = 0.1, 1.25
			p.CacheRead, p.CacheWrite = read*p.Input, write*p.Input
		}
		prices = append(prices, p)
	}
	return prices, nil
}

func invalidPrice(part string) error {
	return task.Invalid("model_prices", "Invalid model price %q: expected model=input/output, or model=input/output/cache_read/cache_write, in USD per million tokens.", part)
}

// Known returns a cost; nil if a part is unknown and the known part is 0.
func Known(usd float64, unknown bool) *float64 {
	if unknown && usd == 0 {
		return nil
	}
	return &usd
}

// Text formats a model cost. An unknown part is named, never counted as 0.
func Text(usd *float64, unknown bool, format string) string {
	switch {
	case usd == nil:
		return "unknown"
	case unknown:
		return fmt.Sprintf(format, *usd) + " + unknown"
	}
	return fmt.Sprintf(format, *usd)
}

// SandboxPrice is a provider's price of a sandbox.
type SandboxPrice struct {
	PerSecond float64 `json:"per_second"`
	Currency  string  `json:"currency"`
}
