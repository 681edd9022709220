package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/config"
)

func TestPricesPerSecondAndHour(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Environ: []string{"OMOI_PRICE_DAYTONA=0.072 USD/hour", "OMOI_PRICE_DOCKER=1EUR/second"}})
	rates := loaded.Price.Rates()
	require.Len(t, rates, 2)
	require.Equal(t, config.Rate{PerSecond: 1, Currency: "EUR"}, rates["docker"])
	require.Equal(t, "USD", rates["daytona"].Currency)
	require.InDelta(t, 0.00002, rates["daytona"].PerSecond, 1e-12)
}

func TestPrices_InvalidAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"free", "1", "1 USD", "1 USD/minute", "-1 USD/hour", "1 usd/hour", "1e400 USD/hour"} {
		_, err := config.Load(config.Source{Environ: []string{"OMOI_HOME=" + t.TempDir(), "OMOI_PRICE_LOCAL=" + text}})
		require.ErrorContains(t, err, "price.local")
		require.ErrorContains(t, err, "0.05 USD/hour")
	}
}

func TestModelPrices_AreChecked(t *testing.T) {
	t.Parallel()
	loaded := load(t, config.Source{Environ: []string{"OMOI_AGENT_MODEL_PRICES=glm-4.6=0.6/2.2, claude-opus-5=5/25/0.5/6.25", "OMOI_AGENT_MODEL_PRICES_DATE=2026-10-01"}})
	require.Equal(t, "2026-10-01", loaded.Agent.PricesDate)
	for _, setting := range []string{"OMOI_AGENT_MODEL_PRICES=glm=1", "OMOI_AGENT_MODEL_PRICES_DATE=today", "OMOI_AGENT_MODEL_PRICES_DATE=2026-99-99"} {
		_, err := config.Load(config.Source{Environ: []string{"OMOI_HOME=" + t.TempDir(), setting}})
		require.ErrorContains(t, err, "agent.model_prices", setting)
	}
}
