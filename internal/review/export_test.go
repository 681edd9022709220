package review

// LimitFetch sets the maximum bytes of commits of a repository.
func (s *Service) LimitFetch(bytes int64) { s.fetches = bytes }
