package app

import (
	"io"
	"log/slog"

	"github.com/omoi-dev/omoi/config"
)

// NewLog makes the logger that the configuration asks for.
func NewLog(cfg config.Log, to io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // config has checked it
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
