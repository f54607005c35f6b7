package main

import (
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/workloads"
)

// wiring puts the program together from the siblings.
func wiring() parts {
	return parts{
		workloads: suiteList,
		providers: providerList,
		schema:    func() ([]byte, error) { return workloads.Schema(workloads.Known()), nil },
	}
}

func suiteList() ([]thing, error) {
	suite, err := workloads.Suite()
	if err != nil {
		return nil, err
	}
	var all []thing
	for _, w := range suite {
		all = append(all, thing{w.Name, w.Provider.Kind, w.Summary})
	}
	return all, nil
}

func providerList() ([]thing, error) {
	var all []thing
	for _, k := range fakeproviders.All {
		all = append(all, thing{k.Name(), "fake", k.Summary()})
	}
	return all, nil
}
