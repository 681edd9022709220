package app

import (
	"io"
	"log/slog"
	"strings"

	"github.com/omoi-dev/omoi/config"
)

// NewLog makes the logger that the configuration asks for.
func NewLog(cfg config.Log, to io.Writer) *slog.Logger {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	options := &slog.HandlerOptions{Level: levels[strings.ToLower(cfg.Level)]}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
