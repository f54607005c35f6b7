package oracles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
)

// maxList is the longest answer that is read, in bytes.
const maxList = 32 << 20

func expanded(lists []bench.HTTPOracle, expand func(string) (string, error)) ([]bench.HTTPOracle, error) {
	lists = slices.Clone(lists)
	for i := range lists {
		l := &lists[i]
		var err error
		if l.URL, err = expand(l.URL); err != nil {
			return nil, err
		}
		l.Headers = maps.Clone(l.Headers)
		for name := range l.Headers {
			if l.Headers[name], err = expand(l.Headers[name]); err != nil {
				return nil, err
			}
		}
	}
	return lists, nil
}

// listed reads by GET. No redirection is followed: it may lead where nobody meant to go.
func listed(ctx context.Context, lists []bench.HTTPOracle) ([]bench.Effect, error) {
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var effects []bench.Effect
	for _, l := range lists {
		these, err := objectsAt(ctx, client, l)
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", strings.SplitN(l.URL, "?", 2)[0], err)
		}
		effects = append(effects, these...)
	}
	return effects, nil
}

func objectsAt(ctx context.Context, client *http.Client, l bench.HTTPOracle) ([]bench.Effect, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range l.Headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, failed.Err // without the address, which may hold a secret
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d, expected 200: %q", resp.StatusCode, short(string(body)))
	}
	if len(body) > maxList {
		return nil, fmt.Errorf("the list is longer than %d bytes: narrow it", maxList)
	}
	var all any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("its answer %q is no JSON: %w", short(string(body)), err)
	}
	if more, there := bench.At(all, l.More); l.More != "" && there && more != false && more != nil && more != "" {
		return nil, fmt.Errorf("the list is not complete (%s is %v): ask for more at once, or narrow it with %s", l.More, more, bench.TrialWord)
	}
	found, _ := bench.At(all, l.List)
	list, ok := found.([]any)
	if !ok {
		return nil, fmt.Errorf("there is no list at %q in %q", l.List, short(string(body)))
	}
	if l.Newest {
		slices.Reverse(list)
	}
	var effects []bench.Effect
	for i, each := range list {
		id, _ := bench.At(each, l.ID)
		if idOf(id) == "" {
			return nil, fmt.Errorf("object %d has %v at %q: expected its id, a text or a number", i+1, id, l.ID)
		}
		attrs := map[string]any{}
		for name, path := range l.Attributes {
			if v, there := bench.At(each, path); there {
				attrs[name] = v
			}
		}
		effects = append(effects, bench.Effect{Object: idOf(id), Class: l.Class, Attrs: values(attrs), Sign: 1})
	}
	return effects, nil
}
