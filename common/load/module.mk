demo-fleet: build ## lecturer: three servers behind HAProxy: one drains, one is killed, and what that costs
	@common/setup/deps.sh fleet && common/load/fleet/demo_fleet.sh

.PHONY: demo-fleet
