//! What became of mail.

use plimsoll_model::experiment::claim::delivery::{DeliveryClaim, DeliveryDetails};

use super::Shown;

impl Shown for DeliveryClaim {
    type Details = DeliveryDetails;
    const TITLE: &'static str = "Delivery";
}
