package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Price holds the prices of sandboxes, by provider.
type Price struct {
	ByProvider PerProvider `zero:"none" doc:"Price of a %s sandbox."`
}

// Rate is a parsed price.
type Rate struct {
	PerSecond float64
	Currency  string
}

// Rates returns the configured prices by provider.
func (p Price) Rates() map[string]Rate {
	rates := map[string]Rate{}
	for provider, text := range p.ByProvider {
		if rate, ok := parseRate(*text); ok {
			rates[provider] = rate
		}
	}
	return rates
}

var rateForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Z]{3})/(second|hour)$`)

// parseRate parses texts such as 0.05 USD/hour and 0.000014 USD/second.
func parseRate(text string) (Rate, bool) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return Rate{}, false
	}
	amount, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return Rate{}, false
	}
	if parts[3] == "hour" {
		const seconds = 3600
		amount /= seconds
	}
	return Rate{PerSecond: amount, Currency: parts[2]}, true
}

var modelPricesForm = regexp.MustCompile(`^\s*([^=,\s]+=[0-9]+(\.[0-9]+)?/[0-9]+(\.[0-9]+)?(/[0-9]+(\.[0-9]+)?/[0-9]+(\.[0-9]+)?)?\s*(,\s*|$))*$`)

// priceFaults checks the prices of models and their date.
func (a Agent) priceFaults() (faults []string) {
	if !modelPricesForm.MatchString(a.ModelPrices) {
		faults = append(faults, fmt.Sprintf("agent.model_prices: invalid prices %q: expected model=input/output, separated by commas, in USD per million tokens", a.ModelPrices))
	}
	if _, err := time.Parse(time.DateOnly, a.PricesDate); a.PricesDate != "" && err != nil {
		faults = append(faults, fmt.Sprintf("agent.model_prices_date: invalid date %q: expected a date such as 2026-11-01", a.PricesDate))
	}
	return faults
}

func (p Price) faults() (faults []string) {
	for provider, text := range p.ByProvider {
		if _, ok := parseRate(*text); *text != "" && !ok {
			faults = append(faults, fmt.Sprintf("price.%s: %q is not a price, for example 0.05 USD/hour or 0.000014 USD/second", provider, *text))
		}
	}
	return faults
}
